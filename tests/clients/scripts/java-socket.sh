#!/bin/sh
# client: java Socket
# needs: java javac
# host: good.example
# proxy: no: knows no HTTP proxy
# capture: yes
# where: installed
set -eu
cat >"$OUT/Raw.java" <<'EOF'
import java.net.Socket;

class Raw {
	public static void main(String[] args) throws Exception {
		try (Socket s = new Socket("good.example", 80)) {
			s.setSoTimeout(20000);
			s.getOutputStream().write("GET / HTTP/1.0\r\nHost: good.example\r\n\r\n".getBytes());
			String all = new String(s.getInputStream().readAllBytes());
			if (!all.contains("hello from net good.example"))
				System.exit(1);
		}
	}
}
EOF
java -XX:TieredStopAtLevel=1 "$OUT/Raw.java"

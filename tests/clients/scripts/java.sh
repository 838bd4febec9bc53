#!/bin/sh
# client: java HttpURLConnection
# needs: java javac
# host: good.example
# proxy: yes, by JAVA_TOOL_OPTIONS
# capture: yes
# where: installed
set -eu
cat >"$OUT/Get.java" <<'EOF'
import java.io.InputStream;
import java.net.URL;
import java.security.MessageDigest;

class Get {
	public static void main(String[] args) throws Exception {
		MessageDigest h = MessageDigest.getInstance("SHA-256");
		try (InputStream in = new URL("http://good.example/big").openStream()) {
			byte[] b = new byte[65536];
			for (int n; (n = in.read(b)) > 0;)
				h.update(b, 0, n);
		}
		StringBuilder s = new StringBuilder();
		for (byte x : h.digest())
			s.append(String.format("%02x", x));
		if (!s.toString().equals(System.getenv("BIG_SHA")))
			System.exit(1);
	}
}
EOF
java -XX:TieredStopAtLevel=1 "$OUT/Get.java"

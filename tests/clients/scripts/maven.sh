#!/bin/sh
# client: maven
# needs: mvn java keytool
# host: pkg.example
# proxy: yes, by JAVA_TOOL_OPTIONS
# capture: yes
# where: installed
set -eu
keytool -importcert -noprompt -alias w -file "$CA" -keystore "$OUT/trust" -storepass changeit 2>/dev/null
cat >"$OUT/pom.xml" <<'EOT'
<project>
<modelVersion>4.0.0</modelVersion>
<parent><groupId>test.hello</groupId><artifactId>parent</artifactId><version>1</version><relativePath/></parent>
<artifactId>t</artifactId><packaging>pom</packaging>
<repositories><repository><id>world</id><url>https://pkg.example/tree/maven</url></repository></repositories>
</project>
EOT
mvn -B -q -f "$OUT/pom.xml" -Dmaven.repo.local="$OUT/m2" -Djavax.net.ssl.trustStore="$OUT/trust" \
	-Djavax.net.ssl.trustStorePassword=changeit validate
grep -q parent "$OUT/m2/test/hello/parent/1/parent-1.pom"

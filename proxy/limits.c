#include "proxy/limits.h"

struct limits limits_default(void)
{
	return (struct limits){ .head_ms = HEAD_TIMEOUT_MS,
				.reply_ms = REPLY_TIMEOUT_MS,
				.keep_alive_ms = KEEP_ALIVE_TIMEOUT_MS,
				.response_ms = RESPONSE_TIMEOUT_MS,
				.upstream_tls_ms = UPSTREAM_TLS_TIMEOUT_MS,
				.upstream_ms = UPSTREAM_TIMEOUT_MS,
				.idle_ms = IDLE_TIMEOUT_MS,
				.session_connections = SESSION_CONNECTIONS_MAX,
				.connections = PROXY_CONNECTIONS_MAX,
				.descriptors = PROXY_CONNECTIONS_MAX * CONNECTION_DESCRIPTORS,
				.pipes = PIPES_MAX };
}

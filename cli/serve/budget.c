#include "cli/serve/budget.h"

#include "proxy/limits.h"

#define PIPES_PART     16
#define CLIENTS_PART   8
#define LISTENERS_PART 4

static size_t at_most(size_t n, size_t max)
{
	return n < max ? n : max;
}

struct budget budget_of(size_t files)
{
	struct budget b;

	if (files < DESCRIPTORS_LEAST)
		files = DESCRIPTORS_LEAST;
	b.clients = at_most(files / CLIENTS_PART, CLIENTS_MAX);
	b.sessions = b.clients * SESSIONS_MAX / CLIENTS_MAX;
	b.listeners = files / LISTENERS_PART;
	b.pipes = at_most(files / PIPES_PART / 2, PIPES_MAX);
	b.connections = at_most(files - OWN_DESCRIPTORS - b.clients - b.sessions - b.listeners -
					2 * b.pipes,
				PROXY_CONNECTIONS_MAX * CONNECTION_DESCRIPTORS);
	return b;
}

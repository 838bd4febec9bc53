#include "cli/wayout.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proxy/upstream.h"

static const char *environment(const char *name)
{
	return getenv(name);
}

static void note(void *arg, const char *text)
{
	(void)arg;
	log_warn("%s", text);
}

int wayout_upstream(const struct run_options *o, const struct layers *l, struct upstreams **out,
		    struct error *err)
{
	const char *url = layers_managed_upstream(l);
	struct upstream up;

	if (!url)
		url = o->upstream_proxy;
	if (!url)
		url = layers_upstream(l);
	if (!url) {
		*out = upstreams_env(environment, note, NULL);
		return 0;
	}
	if (strcmp(url, "none") == 0) {
		*out = NULL;
		return 0;
	}
	if (upstream_parse(url, &up, err) < 0)
		return -1;
	*out = upstreams_one(&up);
	explicit_bzero(&up, sizeof(up));
	return 0;
}

int wayout_resolvers(const struct run_options *o, struct layers *l, const char *const **out,
		     struct error *err)
{
	size_t n;
	const char *const *v;

	if (o->resolvers.n) {
		*out = o->resolvers.v;
		return 0;
	}
	v = layers_list(l, SETTINGS_RESOLVERS, &n);
	for (size_t i = 0; i < n; i++) {
		char shown[128];

		if (!options_is_server(v[i]))
			return error_set(err, 0,
					 "network.resolvers: '%s' is no address of a DNS server",
					 log_escape(shown, sizeof(shown), v[i], strlen(v[i])));
	}
	*out = v;
	return 0;
}

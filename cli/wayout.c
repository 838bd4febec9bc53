#include "cli/wayout.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proxy/tls.h"
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

/* A proxy that speaks TLS needs certificates to believe, and the start is the time to read them. */
static int add_trust(struct upstreams *u, struct tls_trust **trust, bool again, struct error *err)
{
	if (!upstreams_want_trust(u))
		return 0;
	if (!*trust && again)
		return error_set(err, 0,
				 "upstream proxy: https:// is new, and the certificates to believe "
				 "are read at the start only; start again");
	if (!*trust)
		*trust = tls_trust_new(err);
	if (!*trust)
		return error_wrap(err, "upstream proxy");
	upstreams_set_trust(u, tls_trust_ref(*trust));
	return 0;
}

static int choose(const struct run_options *o, const struct layers *l, struct upstreams **out,
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

int wayout_upstream(const struct run_options *o, const struct layers *l, struct tls_trust **trust,
		    bool again, struct upstreams **out, struct error *err)
{
	struct upstreams *u;

	if (choose(o, l, &u, err) < 0)
		return -1;
	if (u && add_trust(u, trust, again, err) < 0) {
		upstreams_free(u);
		return -1;
	}
	*out = u;
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

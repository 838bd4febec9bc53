#include "cli/outside.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/fdreserve.h"
#include "base/forked.h"
#include "cli/hostaddrs.h"
#include "dns/resolver.h"
#include "launcher/launcher.h"
#include "proxy/audit.h"
#include "proxy/proxy.h"

/* The library ends the process itself otherwise, with a status that could be the command's. */
static void on_fatal(int code)
{
	(void)code;
	(void)fputs(
		"sbx-net: cannot make an event loop: is the limit of open files (ulimit -n) too "
		"low?\n",
		stderr);
	_exit(LAUNCHER_EXIT_SETUP);
}

int outside_open(struct outside *out, const char *const *servers, struct error *err)
{
	const struct resolver_config dns = { .servers = servers };

	fd_raise_limit(NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	forked_limits_are_errors();
	event_set_fatal_callback(on_fatal);
	out->base = event_base_new();
	if (!out->base)
		return error_set(err, 0, "cannot make an event loop");
	out->resolver = resolver_new(out->base, &dns, err);
	if (!out->resolver)
		return error_wrap(err, "resolver");
	out->own = hostaddrs_new(out->base, err);
	if (!out->own)
		return -1;
	fdreserve_fill();
	out->proxy = proxy_new(out->base, out->resolver, err);
	return out->proxy ? 0 : error_wrap(err, "proxy");
}

int outside_audit(struct outside *out, const char *where, bool chained, struct error *err)
{
	out->audit = audit_open(out->base, where, chained, err);
	return out->audit ? 0 : -1;
}

void outside_close(struct outside *out)
{
	if (out->proxy)
		proxy_free(out->proxy);
	audit_close(out->audit);
	hostaddrs_free(out->own);
	resolver_free(out->resolver);
	if (out->base)
		event_base_free(out->base);
	*out = (struct outside){ .base = NULL };
}

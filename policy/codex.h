/*
 * codex.h - what a Codex config.toml says about the network, as our settings
 *
 * Read are the profile that default_permissions names ([permissions.NAME.network] and its domains
 * and unix_sockets) and [features.network_proxy], files of both forms, lists and tables; and the
 * older [sandbox_workspace_write]: writable_roots, and network_access, of which true names no host
 * and so allows none here. What else stands there is named in warnings.
 */
#ifndef POLICY_CODEX_H
#define POLICY_CODEX_H

#include "policy/settings.h"

/**
 * codex_parse() - read one config.toml
 * @warn: told of keys that have no effect here; those of other subjects in one sentence
 *
 * A profile that is named and not there, two opposite words about one domain, and a value of the
 * wrong kind are errors. Return: to be freed by settings_free(); NULL with @err.
 */
struct settings *codex_parse(const char *text, size_t len, const char *file, settings_warn_cb *warn,
			     void *arg, struct error *err);

#endif

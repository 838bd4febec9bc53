/*
 * gate.h - one session's way out: its policy, its listeners, and who is told what it did
 *
 * `run` has one gate; `serve` has one for each sandbox that attaches.
 */
#ifndef CLI_GATE_H
#define CLI_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/options.h"
#include "cli/outside.h"
#include "netns/netns.h"
#include "policy/policy.h"

struct asking;
struct gate;
struct layers;
struct proof_plan;
struct refusals;
struct reload;
struct session;
struct stats;
struct tally;
struct whose;

/**
 * gate_new() - read the settings and build the policy; nothing is opened yet
 * @o: the options; must outlive the gate
 * @cwd: where the command starts; copied
 * @base: a gate of before the lock-down, which outlives this one: its certificates serve this one,
 *        too, and its policy is this one's, with the bounds in @o on top; NULL at the start
 *
 * Return: to be freed by gate_free(); NULL with @err.
 */
struct gate *gate_new(const struct run_options *o, const char *cwd, const struct gate *base,
		      struct error *err);

/** gate_end() - the run is over: its connections are closed and told of, and there is no session any more. */
void gate_end(struct gate *g);

/** gate_free() - closes the session and its listeners; NULL is allowed. */
void gate_free(struct gate *g);

/**
 * gate_plan() - the network namespace that the session needs
 * @out: points into the gate
 */
void gate_plan(struct gate *g, struct netns_plan *out);

/**
 * gate_set_asking() - ask about unknown hosts, and hear what is remembered
 *
 * To be called before gate_open(); @a must outlive the gate.
 */
void gate_set_asking(struct gate *g, struct asking *a);

/** gate_set_tally() - add up in @t what happens; it must outlive the gate. */
void gate_set_tally(struct gate *g, struct tally *t);

/** gate_set_whose() - find out which programs connect; @w must outlive the gate. */
void gate_set_whose(struct gate *g, struct whose *w);

/**
 * gate_set_peer() - there are others: bound what the session may have
 * @netns: all sessions of one network namespace share what one may have (struct session_config)
 * @connections, @part: see capture_bound()
 */
void gate_set_peer(struct gate *g, uint64_t netns, size_t connections, unsigned part);

/** gate_policy() - where the policy of the moment is found. */
const struct policy *const *gate_policy(const struct gate *g);

/**
 * gate_open() - join the proxy: session, name server, audit log
 * @number: of the session in the audit log, 0 where there is only one
 */
int gate_open(struct gate *g, const struct outside *outside, unsigned number, struct error *err);

/** gate_watch() - read the policy again when one of its files has changed. */
void gate_watch(struct gate *g, const struct outside *outside);

/**
 * gate_read_again() - read the policy again now
 * @retry: as reload_is_retry(): its warnings have been given
 *
 * A gate with a base takes the base's as it is by now. Return: 0. 1 with @err: a file could not be
 * read and keeps what it said; what the others refuse now is refused, and nothing is open that was
 * not before. -1 with @err: the policy stays as it was.
 */
int gate_read_again(struct gate *g, bool retry, struct error *err);

/** gate_rest_ms() - in how many milliseconds it is to be read again, see rules.h; 0: when something changes. */
unsigned gate_rest_ms(const struct gate *g);

/**
 * gate_prove() - prepare the proof of the sandbox (prove.h), which lasts until gate_proven()
 * @net: from gate_plan()
 * @out: what the launcher tries; the gate's
 *
 * Return: 0, or -1 with @err.
 */
int gate_prove(struct gate *g, const struct netns_plan *net, const struct proof_plan **out,
	       struct error *err);

/** gate_proven() - the probe says that the sandbox holds: did we see what it did? 0, or -1. */
int gate_proven(struct gate *g, unsigned seen, struct error *err);

/**
 * gate_serve() - serve the listeners of a namespace
 * @v, @n: each descriptor is taken over, its field becomes -1
 *
 * Return: 0, or -1 with @err.
 */
int gate_serve(struct gate *g, struct netns_listener *v, size_t n, struct error *err);

/** gate_layers() - the settings files, for what is not about the network. */
struct layers *gate_layers(struct gate *g);

/**
 * gate_resolvers() - the DNS servers that the options or the settings files name
 * @out: NULL-terminated, owned by the gate and the options; NULL for those of /etc/resolv.conf
 */
int gate_resolvers(struct gate *g, const char *const **out, struct error *err);

/** gate_captures() - whether programs that know no proxy are served. */
bool gate_captures(const struct gate *g);

/**
 * gate_guard() - the command may write beneath these roots: of a policy file there that is replaced
 * during the run, only the one that is locked is read (filemark.h)
 */
void gate_guard(struct gate *g, const char *const *roots, size_t n);

/** gate_files() - every file that was looked for, present or not, to be locked; owned by the gate. */
const char *const *gate_files(const struct gate *g, size_t *n);

/** gate_watched() - those of them that a reload reads again: not what an untrusted project says. */
const char *const *gate_watched(const struct gate *g, size_t *n);

/** gate_session() - the proxy's session; NULL before gate_open(). */
struct session *gate_session(const struct gate *g);

/** gate_stats() - what the session has done; its name and command are the caller's to fill in. */
void gate_stats(const struct gate *g, struct stats *out);

/** gate_refusals() - what was refused so far. */
const struct refusals *gate_refusals(struct gate *g);

/** gate_tell_refusals() - have somebody hear the lines of refusals; see refusals.h. */
void gate_tell_refusals(struct gate *g, void (*tell)(void *arg, const char *text), void *arg);

#endif

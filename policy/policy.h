/*
 * policy.h - who may reach what: pure decisions, no I/O and no clock
 *
 * A policy is built once (from options, settings and list files) and
 * const from then on. Decision for a target, first hit wins:
 *  1. not canonical, or this machine, loopback, metadata by name or literal: DENY, unless that
 *     very address is listed
 *  2. denied: DENY, whatever allows it; not within the session's bounds, where it has some: DENY
 *  3. allowed: ALLOW; by the run's own list (--only) where there is one, else by the allow list
 *  4. --only: anything else is DENY
 *  5. strict: DENY
 *  6. remembered answers
 *  7. unknown: DENY, ASK or ALLOW as policy_set_unknown() says
 * and policy_vet() judges each resolved address before it may be dialled.
 *
 * What opens an address that is not public, on the allow list or the run's own list:
 *  - metadata, link-local, this machine's own: that very address
 *  - loopback: the address, or a block inside loopback; localhost and its kind open 127.0.0.1 and
 *    ::1 to themselves only, and are opened by those, too
 *  - private, special: the address, or a block of /8 (IPv6: /7) or longer; for private ones also
 *    LIST_PRIVATE for the name, or a person's yes to the literal
 * A name, a wildcard and "*" open none of them; "*" opens names and public literals. Deny entries: *.host covers host too; an address that embeds a denied
 * IPv4 address is denied.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/error.h"
#include "policy/target.h"

/** enum verdict - what a decision says */
enum verdict {
	VERDICT_DENY,
	VERDICT_ALLOW,
	VERDICT_ASK,
};

/**
 * enum code - why; policy_code_name() gives the stable word of the contract
 *
 * The last five are not decisions of the policy: a connection ends with them too, and they share
 * the table so that every way in reports the same words.
 */
enum code {
	CODE_OK,
	CODE_NOT_LISTED,
	CODE_DENIED,
	CODE_LOOPBACK,
	CODE_METADATA,
	CODE_LINK_LOCAL,
	CODE_OWN_ADDRESS,
	CODE_PRIVATE,
	CODE_SPECIAL,
	CODE_BAD_HOST,
	CODE_BAD_PORT,
	CODE_BAD_REQUEST, /* no target at all; @said of the decision says what was wrong */
	CODE_ASKED_NO,
	CODE_ASK_TIMEOUT,
	CODE_STRICT,
	CODE_ONLY,
	CODE_SNI_MISMATCH,
	CODE_LIMIT,
	CODE_DNS_FAILED,
	CODE_CONNECT_FAILED,
	CODE_CONNECT_TIMEOUT,
	CODE_NUM
};

/**
 * struct rule - one entry of a list, as a decision reports it
 * @text: the pattern as it was written
 * @file: where it came from: a path, or "--allow" and the like
 * @line: line in that file, or 0
 * @reason: the author's words for a refusal, or NULL
 *
 * Owned by the policy and valid as long as it.
 */
struct rule {
	const char *text;
	const char *file;
	unsigned line;
	const char *reason;
};

/**
 * struct keeper - who alone can allow more, where options cannot
 * @managed: the administrator of the machine (allowManagedDomainsOnly), not the user (--locked)
 * @file: where the entry would have to stand; NULL: no keeper, an option allows more
 */
struct keeper {
	bool managed;
	char *file;
};

/**
 * struct decision - the answer of policy_decide() and policy_vet()
 * @verdict: what to do
 * @code: why
 * @rule: the entry that decided, a pointer into the policy, or NULL
 * @addr: for a refused resolved address: which; family AF_UNSPEC otherwise
 * @error: why a connection failed, as an errno value, or 0; ECANCELED: the client has not waited for it, or
 *         the run has ended; with CODE_LIMIT EBUSY: too many lookups
 * @said: of a request without a valid target: what it asked for, by policy/said.h; valid during the
 *        call that tells of the decision; or NULL
 * @lists: of a refusal: LACKS_ bits of the lists that the target would have to be on; 0: what
 *         @code says
 * @leads_to: of an unlisted name: an address that it is known to lead to and that would be refused
 *            next; family AF_UNSPEC otherwise
 * @own_name: of an unlisted name: it is this machine's own, and nothing else is known of it
 * @keeper: who can change it, a pointer into the policy; NULL: whoever types the options
 * @by: who answered, where a person or a program was asked; lives as long as @rule, or NULL
 */
struct decision {
	enum verdict verdict;
	enum code code;
	const struct rule *rule;
	struct addr addr;
	unsigned lists;
	struct addr leads_to;
	bool own_name;
	int error;
	const struct keeper *keeper;
	const char *by;
	const char *said;
};

/* The run's own list, or bounds, and the allow list: each by its own option. */
#define LACKS_ALLOW (1u << 0)
#define LACKS_ONLY  (1u << 1)

/** enum list - which list an entry joins */
enum list {
	LIST_ALLOW,
	LIST_DENY,
	LIST_ONLY, /* the run's own: not empty, it allows in the place of LIST_ALLOW (code "only") */
	LIST_PRIVATE, /* --allow-private: names that may lead to private addresses */
	LIST_WITHIN, /* bounds: not empty, it refuses (code "only") what is not on it, and adds nothing */
	LIST_SESSION,	   /* bounds once more, of one session of serve: both have to hold */
	LIST_SESSION_DENY, /* such a session's own deny entries */
};

struct policy;

/** policy_new() - an empty policy: nothing is allowed. Free with policy_free(). */
struct policy *policy_new(void);

/**
 * policy_share() - a policy that says the same, with lists of its own for LIST_SESSION and
 * LIST_SESSION_DENY, which are empty
 *
 * The other lists are those of @base, which nothing may be added to any more; they live as long as
 * the last policy that has them. Free with policy_free().
 */
struct policy *policy_share(const struct policy *base);

/** policy_free() - NULL is allowed. */
void policy_free(struct policy *p);

/**
 * policy_add() - put a pattern on a list
 * @list: which
 * @pattern: host, *.host, **.host, *, address, [IPv6], CIDR; each with :port, :lo-hi, :p1,p2
 * @file: origin, copied; "--allow" for the command line
 * @line: line in @file, or 0
 * @reason: shown when the entry refuses, or NULL; copied
 *
 * Return: 0, or -1 with @err naming the pattern and why it can never match.
 */
int policy_add(struct policy *p, enum list list, const char *pattern, const char *file,
	       unsigned line, const char *reason, struct error *err);

/**
 * policy_take_over() - put on a list what another policy has on it from one file
 * @from: where the entries are found
 * @file: their origin; of those that an earlier file has too, as many are known as ruleset.h keeps
 *
 * Return: 0, or -1 with @err when the list is full.
 */
int policy_take_over(struct policy *p, enum list list, const struct policy *from, const char *file,
		     struct error *err);

/**
 * policy_bound() - what another policy refuses, or asks about, this one does not allow
 * @whole: where it is bound itself, its own bound is taken in its place
 *
 * For a policy made from files of which one could not be read: it may only tighten.
 */
void policy_bound(struct policy *p, const struct policy *whole);

/** policy_reserve() - make room on a list for that many more entries; only saves time. */
void policy_reserve(struct policy *p, enum list list, size_t entries);

/** policy_set_strict() - refuse unknown hosts without asking (code "strict"). */
void policy_set_strict(struct policy *p, bool strict);

/** policy_set_keeper() - only @file, which is copied, can allow more; decisions say so. */
void policy_set_keeper(struct policy *p, bool managed, const char *file);

/** policy_set_unknown() - what an unlisted host gets; VERDICT_DENY by default. */
void policy_set_unknown(struct policy *p, enum verdict verdict);

/** enum sni_check - what a TLS client on port 443 of a named target must say */
enum sni_check {
	SNI_OFF,    /* anything */
	SNI_NAME,   /* no other name than the target's; the default */
	SNI_STRICT, /* TLS, with exactly the target's name, none of it encrypted */
};

/** policy_set_sni_check() - how the first bytes of a tunnel to port 443 are judged. */
void policy_set_sni_check(struct policy *p, enum sni_check check);

/** policy_sni_check() - what was set, or SNI_NAME. */
enum sni_check policy_sni_check(const struct policy *p);

struct recordtypes;

/** policy_set_forwarded() - record types that may be asked for outside for listed names; copied. */
void policy_set_forwarded(struct policy *p, const struct recordtypes *types);

/** policy_forwards() - whether records of this type may be; of which names: policy_decide(). */
bool policy_forwards(const struct policy *p, uint16_t type);

struct grants;

/**
 * policy_set_answers() - remembered answers, which count behind every list and before "unknown"
 * @answers: must outlive the policy and may change meanwhile; NULL for none
 */
void policy_set_answers(struct policy *p, const struct grants *answers);

/** policy_decide() - the verdict for a target, before any name is resolved. */
void policy_decide(const struct policy *p, const struct target *t, struct decision *out);

/**
 * policy_vet() - may this resolved address be dialled for this (allowed) target?
 * @own: this machine's addresses, or NULL
 * @out: VERDICT_ALLOW, or VERDICT_DENY with the class's code and @out->addr set
 */
void policy_vet(const struct policy *p, const struct target *t, const struct addr *a,
		const struct addr_set *own, struct decision *out);

/**
 * policy_foresee() - fill in @d->leads_to, so that a refusal can name everything that has to change
 *
 * Where no answer could open what a name leads to, VERDICT_ASK becomes VERDICT_DENY: nobody is asked
 * in vain.
 *
 * @d: what policy_decide() or a person said of @t
 * @v, @n: where the name leads as far as is known without asking anybody (/etc/hosts)
 * @own: this machine's addresses, or NULL
 */
void policy_foresee(const struct policy *p, const struct target *t, const struct addr *v, size_t n,
		    const struct addr_set *own, struct decision *d);

/** policy_code_name() - "not-listed", "loopback", ... the words of the contract. */
const char *policy_code_name(enum code c);

/**
 * policy_capture_ports() - the ports that allow entries name, each once, ascending
 * @out: receives at most @max ports
 *
 * Return: how many were written.
 */
size_t policy_capture_ports(const struct policy *p, uint16_t *out, size_t max);

struct ruleset;

/** policy_ruleset() - a list's entries, for lint and bench. */
const struct ruleset *policy_ruleset(const struct policy *p, enum list list);

struct pattern;

/** typedef policy_visit - called for each entry in the order of adding; false stops. */
typedef bool policy_visit(void *ctx, const struct pattern *pattern, const struct rule *rule);

/** policy_each() - visit every entry of a list; @rule is valid during the call only. */
void policy_each(const struct policy *p, enum list list, policy_visit *visit, void *ctx);

/** policy_count() - how many entries a list has. */
size_t policy_count(const struct policy *p, enum list list);

#endif

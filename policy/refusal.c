#include "policy/refusal.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/shellword.h"

/* Longest piece of the policy's author that is repeated: pattern, file, reason. */
#define PIECE_MAX 200

/* What is said, and which option would have allowed it. */
enum remedy {
	REMEDY_NONE,
	REMEDY_ALLOW,
	REMEDY_ONLY,
	REMEDY_ADDR,	/* --allow with the address that was refused */
	REMEDY_PRIVATE, /* --allow-private for a name, --allow for a literal */
};

/* @instead: of a remedy, where no option is one */
struct phrase {
	const char *text;
	enum remedy remedy;
	const char *instead;
};

static const struct phrase phrase[] = {
	[CODE_OK] = { "allowed", REMEDY_NONE },
	[CODE_NOT_LISTED] = { "not on the allow list", REMEDY_ALLOW },
	[CODE_DENIED] = { "denied", REMEDY_NONE, "nothing allows it while that entry stands" },
	[CODE_LOOPBACK] = { "leads to this machine", REMEDY_ADDR },
	[CODE_METADATA] = { "a cloud metadata service", REMEDY_NONE,
			    "only an entry for that very address allows it" },
	[CODE_LINK_LOCAL] = { "a link-local address", REMEDY_ADDR },
	[CODE_OWN_ADDRESS] = { "an address of this machine", REMEDY_ADDR },
	[CODE_PRIVATE] = { "a private address", REMEDY_PRIVATE },
	[CODE_SPECIAL] = { "a special-use address", REMEDY_ADDR },
	[CODE_BAD_HOST] = { "not a valid host name", REMEDY_NONE },
	[CODE_BAD_PORT] = { "not a valid port", REMEDY_NONE },
	[CODE_BAD_REQUEST] = { "malformed", REMEDY_NONE },
	[CODE_ASKED_NO] = { "the answer was no", REMEDY_ALLOW },
	[CODE_ASK_TIMEOUT] = { "nobody answered in time", REMEDY_ALLOW },
	[CODE_STRICT] = { "not on the allow list, and strict mode asks nobody", REMEDY_ALLOW },
	[CODE_ONLY] = { "not on this run's own list", REMEDY_ONLY },
	[CODE_SNI_MISMATCH] = { "TLS asked for another name", REMEDY_NONE,
				"network.sniCheck of the settings decides that" },
	[CODE_LIMIT] = { "a limit is reached", REMEDY_NONE },
	[CODE_DNS_FAILED] = { "the name does not resolve", REMEDY_NONE },
	[CODE_CONNECT_FAILED] = { "the connection failed", REMEDY_NONE },
	[CODE_CONNECT_TIMEOUT] = { "the connection timed out", REMEDY_NONE },
};
static_assert(ARRAY_SIZE(phrase) == CODE_NUM, "one phrase a code");

/* A growing line in a buffer of REFUSAL_MAX bytes; what does not fit is cut. */
struct line {
	char *out;
	size_t n;
};

static void put(struct line *l, const char *text)
{
	size_t room = REFUSAL_MAX - 1 - l->n;
	size_t n = strlen(text);

	if (n > room)
		n = room;
	memcpy(l->out + l->n, text, n);
	l->n += n;
	l->out[l->n] = '\0';
}

static void put_piece(struct line *l, const char *text)
{
	char buf[PIECE_MAX];

	put(l, log_escape(buf, sizeof(buf), text, strlen(text)));
}

static bool is_failure(enum code code)
{
	return code == CODE_DNS_FAILED || code == CODE_CONNECT_FAILED ||
	       code == CODE_CONNECT_TIMEOUT;
}

/* ": *.example.com, FILE:12: tracks users" */
static void put_rule(struct line *l, const struct rule *r)
{
	char number[16];

	put(l, " by ");
	put_piece(l, r->text);
	if (r->file) {
		put(l, ", ");
		put_piece(l, r->file);
	}
	if (r->file && r->line) {
		(void)snprintf(number, sizeof(number), ":%u", r->line);
		put(l, number);
	}
	if (r->reason) {
		put(l, ": ");
		put_piece(l, r->reason);
	}
}

/* The kernel's reasons for which there are words; others are "the connection failed". */
static const char *failure(const struct decision *d)
{
	if (d->code == CODE_STRICT && d->keeper)
		return d->keeper->managed ? "not on the managed allow list"
					  : "not on the allow list, and --locked asks nobody";
	if (d->code == CODE_LIMIT && d->error == EBUSY)
		return "too many names are being looked up at once";
	if (d->error == ECANCELED && d->code == CODE_DNS_FAILED)
		return "given up while the name was looked up";
	if (d->code != CODE_CONNECT_FAILED)
		return phrase[d->code].text;
	switch (d->error) {
	case ECONNREFUSED:
		return "the connection was refused: nothing listens there";
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ENETDOWN:
	case EHOSTDOWN:
		return "unreachable: no way leads there";
	case ECONNRESET:
	case EPIPE:
		return "the connection was reset";
	case EKEYREJECTED:
		return "the upstream proxy's certificate is not accepted";
	case EPROTO:
		return "the upstream proxy does not speak as it should";
	case ENOTCONN:
		return "the upstream proxy cannot be reached";
	case ECONNABORTED:
		return "the upstream proxy refuses it";
	case ECANCELED:
		return "given up before it was connected";
	case EADDRNOTAVAIL:
		return "this machine has no address of that kind";
	default:
		return phrase[d->code].text;
	}
}

/* The name is allowed already, and what it leads to is refused: its own entry has to stay. */
static bool is_address_refused(const struct target *t, const struct decision *d)
{
	return d->addr.family != AF_UNSPEC && !target_is_literal(t);
}

/* Whoever names this machine inside rather wants a server of the command's than one outside. */
static void put_own_server(struct line *l, const struct target *t)
{
	char port[32];

	(void)snprintf(port, sizeof(port), t->port ? ":%u" : "", t->port);
	put(l, " outside; the command's own servers are at localhost");
	put(l, port);
}

static void put_reason(struct line *l, const struct target *t, const struct decision *d)
{
	char addr[ADDR_TEXT_MAX];

	put(l, " (");
	put(l, failure(d));
	if (d->code == CODE_BAD_REQUEST && d->said) {
		put(l, ": ");
		put_piece(l, d->said);
	}
	if (is_address_refused(t, d)) {
		put(l, d->code == CODE_DENIED ? " address " : ": ");
		put(l, addr_format(&d->addr, addr));
	}
	if (d->rule && !is_failure(d->code))
		put_rule(l, d->rule);
	if (d->leads_to.family != AF_UNSPEC) {
		put(l, "; leads to ");
		put(l, addr_format(&d->leads_to, addr));
		if (addr_classify(&d->leads_to) == ADDR_LOOPBACK)
			put_own_server(l, t);
	} else if (d->own_name) {
		put(l, "; the name of this machine");
		put_own_server(l, t);
	}
	put(l, ")");
}

/* A target's host is canonical: printable, and short enough to stand here twice. */
static void put_target(struct line *l, const struct target *t)
{
	char text[TARGET_TEXT_MAX];

	put(l, t->host.len ? target_format(t, text) : "a request");
}

/* The address to list: the one a name led to, or the literal itself. */
static struct target entry_of(const struct target *t, const struct decision *d)
{
	struct target direct = *t;

	if (d->addr.family != AF_UNSPEC)
		target_from_addr(&d->addr, t->port, &direct);
	return direct;
}

/* For a shell: to zsh, brackets are a pattern that no file matches, and that is an error. */
static void put_option(struct line *l, const char *name, const struct target *t)
{
	char text[TARGET_TEXT_MAX], word[SHELLWORD_MAX(TARGET_TEXT_MAX)];

	put(l, name);
	put(l, " ");
	put(l, shellword(word, sizeof(word), target_format(t, text)));
}

/* The options that put the target on the lists that it lacks, and the address behind its name. */
static void put_options(struct line *l, const struct target *t, const struct decision *d)
{
	struct target entry = entry_of(t, d), direct;
	unsigned lists = d->lists;

	if (!lists || is_address_refused(t, d))
		lists = d->code == CODE_ONLY ? LACKS_ONLY : LACKS_ALLOW;
	if (lists & LACKS_ALLOW)
		put_option(l, "--allow", &entry);
	if (lists & LACKS_ONLY)
		put_option(l, lists & LACKS_ALLOW ? " --only" : "--only", &entry);
	if (d->leads_to.family == AF_UNSPEC)
		return;
	target_from_addr(&d->leads_to, t->port, &direct);
	put_option(l, " --allow", &direct);
}

static enum remedy remedy_of(const struct target *t, const struct decision *d)
{
	/* localhost and its kind, leading elsewhere: the name is listed, and once more does not help */
	if (d->code == CODE_NOT_LISTED && is_address_refused(t, d))
		return REMEDY_ADDR;
	return phrase[d->code].remedy;
}

/* What options cannot allow: --only can, as it is an option that refuses. */
static bool is_kept(const struct target *t, const struct decision *d)
{
	enum remedy remedy = remedy_of(t, d);

	if (!d->keeper || remedy == REMEDY_NONE)
		return false;
	if (d->lists && !is_address_refused(t, d))
		return d->lists & LACKS_ALLOW || d->leads_to.family != AF_UNSPEC;
	return remedy != REMEDY_ONLY;
}

/* Where the entry has to go, and by whom. */
static void put_keeper(struct line *l, const struct target *t, const struct decision *d)
{
	struct target entry = entry_of(t, d), direct;

	put(l, d->keeper->managed ? "; only the administrator can allow it, in "
				  : "; --locked: add to ");
	put_piece(l, d->keeper->file);
	if (d->keeper->managed)
		return;
	put(l, ": ");
	put_target(l, &entry);
	if (d->leads_to.family == AF_UNSPEC)
		return;
	target_from_addr(&d->leads_to, t->port, &direct);
	put(l, " and ");
	put_target(l, &direct);
}

static void put_remedy(struct line *l, const struct target *t, const struct decision *d)
{
	switch (remedy_of(t, d)) {
	case REMEDY_NONE:
		return;
	case REMEDY_PRIVATE:
		if (target_is_literal(t))
			break;
		put(l, "--allow-private ");
		put(l, t->host.s);
		return;
	case REMEDY_ALLOW:
	case REMEDY_ONLY:
	case REMEDY_ADDR:
		break;
	}
	put_options(l, t, d);
}

bool refusal_is_addition(const struct target *t, const struct decision *d)
{
	return remedy_of(t, d) != REMEDY_NONE && !is_kept(t, d) && is_address_refused(t, d);
}

const char *refusal_remedy(const struct target *t, const struct decision *d, char out[REFUSAL_MAX])
{
	struct line l = { .out = out };

	put(&l, "");
	if (!is_kept(t, d))
		put_remedy(&l, t, d);
	return out;
}

const char *refusal_format(const struct target *t, const struct decision *d, char out[REFUSAL_MAX])
{
	struct line l = { .out = out };

	put(&l, is_failure(d->code) ? "cannot reach " : "refused ");
	if (!t->host.len && d->said && *d->said && d->code != CODE_BAD_REQUEST)
		put(&l, d->said);
	else
		put_target(&l, t);
	put_reason(&l, t, d);
	if (is_kept(t, d)) {
		put_keeper(&l, t, d);
		return out;
	}
	if (phrase[d->code].remedy != REMEDY_NONE)
		put(&l, refusal_is_addition(t, d) ? "; allow also with: " : "; allow with: ");
	put_remedy(&l, t, d);
	if (phrase[d->code].instead) {
		put(&l, "; ");
		put(&l, phrase[d->code].instead);
	}
	return out;
}

const char *refusal_told(const struct target *t, const struct decision *d, const char *hint,
			 char out[REFUSAL_TOLD_MAX])
{
	size_t n = strlen(refusal_format(t, d, out));

	if (hint)
		(void)snprintf(out + n, REFUSAL_TOLD_MAX - n, " (%s)", hint);
	return out;
}

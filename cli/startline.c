#include "cli/startline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/jsonout.h"
#include "launcher/weaker.h"
#include "policy/policy.h"
#include "proxy/audit.h"

static const char *const list_name[] = {
	[LIST_ALLOW] = "allow",
	[LIST_DENY] = "deny",
	[LIST_ONLY] = "only",
	[LIST_PRIVATE] = "private",
	[LIST_WITHIN] = "within",
	[LIST_SESSION] = "session",
	[LIST_SESSION_DENY] = "session-deny",
};

static const char *const fs_name[] = {
	[FS_WORKSPACE] = "workspace",
	[FS_STRICT] = "strict",
	[FS_OFF] = "off",
};

struct text {
	FILE *out;
	const char *list;
};

static bool put_rule(void *ctx, const struct pattern *pattern, const struct rule *rule)
{
	const struct text *t = ctx;

	(void)pattern;
	(void)fprintf(t->out, "%s %s\n", t->list, rule->text);
	return true;
}

/* What the flags come to: the verdict for a name that is on no list. */
static void put_unknown(FILE *out, const struct policy *p)
{
	static const char name[] = "sbx-net.invalid";
	struct target t = { .via = VIA_CONNECT };
	struct decision d;

	(void)target_from_host(name, strlen(name), 443, &t);
	policy_decide(p, &t, &d);
	(void)fprintf(out, "unknown %d %s\nsni %d\n", (int)d.verdict, policy_code_name(d.code),
		      (int)policy_sni_check(p));
}

int startline_digest(const struct policy *p, char out[DIGEST_HEX_SIZE], struct error *err)
{
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	struct text t = { .out = open_memstream(&text, &size) };

	if (!t.out)
		return error_set(err, errno, "cannot write the policy down");
	for (size_t i = 0; i < ARRAY_SIZE(list_name); i++) {
		t.list = list_name[i];
		policy_each(p, (enum list)i, put_rule, &t);
	}
	put_unknown(t.out, p);
	if (fclose(t.out))
		return error_set(err, errno, "cannot write the policy down");
	digest_hex(text, size, out);
	return 0;
}

void startline_write(struct audit *a, const struct startline *s, const struct launcher_proof *proof)
{
	char line[AUDIT_LINE_MAX];
	struct timespec now;
	struct jsonout j;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	jsonout_begin(&j, line, sizeof(line));
	jsonout_str(&j, "event", "start");
	jsonout_str(&j, "version", SBX_VERSION);
	jsonout_bool(&j, "proven", true);
	jsonout_str(&j, "policy_sha256", s->policy);
	jsonout_str(&j, "fs", fs_name[s->fs]);
	jsonout_bool(&j, "capture", s->capture);
	jsonout_bool(&j, "unix_sockets", s->unix_sockets);
	jsonout_bool(&j, "ptrace", s->ptrace);
	jsonout_uint(&j, "landlock_abi", (uint64_t)proof->abi);
	jsonout_array(&j, "weaker");
	for (size_t i = 0; i < WEAKER_NUM; i++)
		if (proof->weaker & 1u << i)
			jsonout_str(&j, NULL, weaker_name(i));
	jsonout_close(&j);
	audit_put_time(&j, &now);
	audit_write(a, line, jsonout_end(&j));
}

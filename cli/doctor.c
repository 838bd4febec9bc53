/*
 * doctor.c - `sbx-net doctor`: what this host lets a sandbox be made of, what is missing, the remedy
 *
 * Exit status: 0 everything is there; 1 runs are possible but weaker, with --accept-weaker; 2 no
 * run is possible.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/jsonout.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/selfpath.h"
#include "launcher/files/landlock_abi.h"
#include "launcher/launcher.h"
#include "launcher/trial.h"

#define EXIT_WEAKER  1
#define EXIT_NOTHING 2
#define OUTPUT_MAX   32768 /* of the JSON form: each check has one message and two sentences */

/* A whole run, beside the parts: what they cannot show. */
struct whole {
	bool ok;
	char said[ERROR_MSG_MAX];
};

enum state {
	STATE_FULL,
	STATE_WEAKER,
	STATE_NOTHING,
};

static const char *const state_name[] = { "full", "weaker", "nothing" };

struct findings {
	struct trial_result part[TRIAL_NUM];
	struct whole whole;
	enum state state;
	int abi; /* of Landlock, 0: none that would do */
	struct utsname host;
};

/* ---- finding out */

static enum state judge(const struct trial_result v[TRIAL_NUM])
{
	enum state state = STATE_FULL;

	for (int i = 0; i < TRIAL_NUM; i++) {
		enum trial_need need = trial_about((enum trial_part)i)->need;

		if (v[i].ok || need == TRIAL_OPTIONAL)
			continue;
		if (need == TRIAL_NEEDED)
			return STATE_NOTHING;
		state = STATE_WEAKER;
	}
	return state;
}

/* Runs @argv without a word; its standard error goes to @fd. Return: its status, -1 with errno. */
static int run_silently(char *const *argv, int fd)
{
	posix_spawn_file_actions_t actions;
	int status = -1, code;
	pid_t pid;

	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, fd, STDERR_FILENO);
	code = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	errno = code;
	if (code)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* A shell that does nothing, in a run that may be as weak as it gets. */
static void try_whole(struct whole *w)
{
	static const char *const words[] = { "run",
					     "--no-config",
					     "--ask",
					     "never",
					     "--quiet",
					     "--fs",
					     "strict",
					     "--chdir",
					     "/",
					     "--accept-weaker",
					     "proc,landlock-scopes",
					     "--",
					     "/bin/sh",
					     "-c",
					     ":" };
	CLEANUP_FREE char *self = selfpath();
	char *argv[ARRAY_SIZE(words) + 2] = { self };
	FILE *said = tmpfile();
	int status;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		argv[i + 1] = (char *)(uintptr_t)words[i];
	status = self && said ? run_silently(argv, fileno(said)) : -1;
	w->ok = status == 0;
	if (status == -1)
		(void)snprintf(w->said, sizeof(w->said), "cannot run %s: %s",
			       self ? self : "this program", strerror(errno));
	if (!said)
		return;
	if (status != -1) {
		rewind(said);
		n = fread(w->said, 1, sizeof(w->said) - 1, said);
		w->said[n] = '\0';
		w->said[strcspn(w->said, "\n")] = '\0';
	}
	(void)fclose(said);
}

static int find_out(struct findings *f, struct error *err)
{
	struct landlock_rights rights;

	(void)uname(&f->host);
	if (trial_run(f->part, err) < 0)
		return -1;
	f->abi = landlock_abi_query(&rights, NULL) == 0 ? rights.abi : 0;
	f->state = judge(f->part);
	try_whole(&f->whole);
	if (!f->whole.ok)
		f->state = STATE_NOTHING;
	return 0;
}

/* ---- telling */

static const char *verdict(const struct trial_result *r, enum trial_need need)
{
	static const char *const lacking[] = {
		[TRIAL_NEEDED] = "missing",
		[TRIAL_WEAKER] = "weaker",
		[TRIAL_OPTIONAL] = "optional",
	};

	if (!r->tried)
		return "untried";
	return r->ok ? "ok" : lacking[need];
}

/* Where the failure itself says what to do, that is the remedy. */
static const char *remedy(const struct trial_result *r, const struct trial_about *a)
{
	if (r->ok || !r->tried)
		return NULL;
	return a->remedy && !r->explained ? a->remedy : r->err.msg;
}

static void print_part(const struct trial_result *r, const struct trial_about *a)
{
	printf("%-9s %-16s %s\n", verdict(r, a->need), a->name, a->what);
	if (r->ok || !r->tried)
		return;
	printf("%27s%s\n", "", r->err.msg);
	if (a->remedy && !r->explained)
		printf("%27sremedy: %s\n", "", a->remedy);
}

/* A run fails for the reason of a part, as a rule: that has been told, with its remedy. */
static bool is_told(const struct findings *f)
{
	for (int i = 0; i < TRIAL_NUM; i++) {
		const struct trial_result *r = &f->part[i];

		if (r->tried && !r->ok && *r->err.msg && strstr(f->whole.said, r->err.msg))
			return true;
	}
	return false;
}

static void print(const struct findings *f)
{
	static const char *const sentence[] = {
		[STATE_FULL] = "Runs are confined in full here.",
		[STATE_WEAKER] = "Runs are weaker here, and only with --accept-weaker.",
		[STATE_NOTHING] = "No run is possible here.",
	};

	printf("Linux %s, Landlock ABI %d\n", f->host.release, f->abi);
	for (int i = 0; i < TRIAL_NUM; i++)
		print_part(&f->part[i], trial_about((enum trial_part)i));
	printf("%-9s %-16s %s\n", f->whole.ok ? "ok" : "missing", "run",
	       "a whole run, tried from inside before its command started");
	if (!f->whole.ok)
		printf("%27s%s\n", "", is_told(f) ? "for the reason above" : f->whole.said);
	printf("%s\n", sentence[f->state]);
}

static void put_check(struct jsonout *j, const char *name, const char *status, const char *detail,
		      const char *what_to_do)
{
	jsonout_object(j, NULL);
	jsonout_str(j, "name", name);
	jsonout_str(j, "status", status);
	jsonout_str(j, "detail", detail);
	jsonout_str(j, "remedy", what_to_do);
	jsonout_close_object(j);
}

static int print_json(const struct findings *f, struct error *err)
{
	static char line[OUTPUT_MAX];
	struct jsonout j;
	size_t n;

	jsonout_begin(&j, line, sizeof(line));
	jsonout_str(&j, "state", state_name[f->state]);
	jsonout_str(&j, "kernel", f->host.release);
	jsonout_uint(&j, "landlock_abi", (uint64_t)f->abi);
	jsonout_array(&j, "checks");
	for (int i = 0; i < TRIAL_NUM; i++) {
		const struct trial_result *r = &f->part[i];
		const struct trial_about *a = trial_about((enum trial_part)i);

		put_check(&j, a->name, verdict(r, a->need), r->tried && !r->ok ? r->err.msg : NULL,
			  remedy(r, a));
	}
	put_check(&j, "run", f->whole.ok ? "ok" : "missing", f->whole.ok ? NULL : f->whole.said,
		  f->whole.ok ? NULL : f->whole.said);
	jsonout_close(&j);
	n = jsonout_end(&j);
	if (n == 0)
		return error_set(err, 0, "the findings do not fit"); /* our bug */
	(void)fwrite(line, 1, n, stdout);
	return 0;
}

static int doctor(const struct run_options *o)
{
	static const int status[] = { 0, EXIT_WEAKER, EXIT_NOTHING };
	struct findings f = { 0 };
	struct error err;

	if (o->ncommand > 0) {
		(void)fprintf(stderr, "sbx-net: usage: sbx-net doctor [--json]\n");
		return OPTIONS_EXIT_USAGE;
	}
	if (find_out(&f, &err) < 0 || (o->json && print_json(&f, &err) < 0)) {
		(void)fprintf(stderr, "sbx-net: %s\n", err.msg);
		return LAUNCHER_EXIT_SETUP;
	}
	if (!o->json)
		print(&f);
	if (fflush(stdout) || ferror(stdout)) {
		perror("sbx-net: cannot write");
		return LAUNCHER_EXIT_SETUP;
	}
	return status[f.state];
}

int doctor_main(int argc, char **argv)
{
	return command_plain("doctor", doctor, argc, argv);
}

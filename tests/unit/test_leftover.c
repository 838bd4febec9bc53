/* What a command may leave in a git directory: what is taken away, and what stays. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "launcher/files/leftover.h"

static char top[PATH_MAX];
static char said[16384];
static size_t lines;

static void hear(void *arg, const char *line)
{
	size_t n = strlen(said);

	(void)arg;
	lines++;
	(void)snprintf(said + n, sizeof(said) - n, "%s\n", line);
}

static void shell(const char *script)
{
	if (system(script) != 0) // NOLINT(cert-env33-c): a test's own words
		fail_msg("%s", script);
}

static bool exists(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static int led = -1; /* a working tree that leads to a git directory */

static struct leftover *note(const char *dir, enum leftover_kind kind)
{
	CLEANUP_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	said[0] = '\0';
	lines = 0;
	return leftover_note(fd, kind, &led, led >= 0, hear, NULL);
}

static void sweep(struct leftover *l)
{
	leftover_sweep(l, hear, NULL, NULL);
	leftover_free(l);
}

/* What a command does between the two. */
static void run(enum leftover_kind kind, const char *script)
{
	struct leftover *l = note(kind == LEFTOVER_TREE ? "." : ".git", kind);

	shell(script);
	sweep(l);
}

static int make_git(void **state)
{
	(void)state;
	shell("rm -rf .git HEAD objects refs; mkdir -p .git/logs/refs .git/refs/heads "
	      ".git/objects/ab "
	      ".git/objects/info; echo 'ref: refs/heads/m' > .git/HEAD; "
	      "printf 'DIRC\\0\\0\\0\\2\\0\\0\\0\\0%020d' 0 > .git/index");
	return 0;
}

static void test_links_go(void **state)
{
	static const char *const names[] = { "COMMIT_EDITMSG", "FETCH_HEAD",	  "ORIG_HEAD",
					     "logs/HEAD",      "logs/refs/heads", "refs/heads/a",
					     "objects/cd",     "objects/info/x",  "config" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP_FREE char *script = xasprintf("ln -s /etc/passwd .git/%s", names[i]);
		CLEANUP_FREE char *path = xasprintf(".git/%s", names[i]);

		run(LEFTOVER_GIT, script);
		assert_false(exists(path));
		assert_int_equal(lines, 1);
		assert_non_null(strstr(said, names[i]));
		assert_non_null(strstr(said,
				       "/etc/passwd; the command has left it, and it has been "
				       "removed"));
	}
}

static void test_links_inside_go(void **state)
{
	(void)state;
	run(LEFTOVER_GIT, "ln -s config .git/COMMIT_EDITMSG");
	assert_false(exists(".git/COMMIT_EDITMSG"));
}

/* git worktree prune empties what such a link leads to; no HEAD is a name that git would not give. */
static void test_links_by_names_of_others_go(void **state)
{
	static const char *const links[] = {
		"/etc .git/worktrees/.#a",
		"a@b.1 .git/worktrees/.#a",
		"/etc .git/modules/.#a",
		"../a@b.1 .git/.#a",
		"refs/heads/a .git/worktrees/HEAD",
		"refs/heads/-a .git/HEAD",
		"refs/heads/../../a .git/HEAD",
		"\"refs/heads/a$(printf '\\033')\" .git/HEAD",
		"refs/heads/m .git/refs/remotes/o/HEAD",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		CLEANUP_FREE char *script = xasprintf("ln -sf %s", links[i]);

		make_git(NULL);
		shell("mkdir -p .git/worktrees .git/modules .git/refs/remotes/o");
		run(LEFTOVER_GIT, script);
		assert_int_equal(lines, 1);
		assert_non_null(strstr(said, "; the command has left it, and it has been removed"));
	}
}

static void test_links_by_names_of_gits_stay(void **state)
{
	(void)state;
	shell("mkdir -p .git/refs/remotes/o");
	run(LEFTOVER_GIT, "ln -sf refs/heads/m .git/HEAD; ln -s me@host.1:2 .git/.#COMMIT_EDITMSG; "
			  "ln -s refs/remotes/o/m .git/refs/remotes/o/HEAD");
	assert_int_equal(lines, 0);
	assert_true(exists(".git/.#COMMIT_EDITMSG") && exists(".git/refs/remotes/o/HEAD"));
}

static void test_only_files_are_among_objects(void **state)
{
	(void)state;
	shell("ln -s /etc/hosts .git/objects/ab/old; sleep .1");
	shell("mkdir moved; ln -s /etc/hosts moved/link; sleep .1");
	run(LEFTOVER_GIT, "mv moved .git/objects/ef; ln -s /etc/passwd .git/objects/ab/new; mkdir "
			  ".git/objects/cd; "
			  "mkfifo .git/objects/cd/pipe; echo x > .git/objects/cd/file; chmod 0 "
			  ".git/objects/cd");
	assert_int_equal(lines, 3);
	assert_non_null(strstr(said, "objects/ab/new: a symbolic link"));
	assert_non_null(strstr(said, "objects/cd/pipe: a pipe"));
	assert_true(exists(".git/objects/ab/old") && exists(".git/objects/cd/file"));
	assert_false(exists(".git/objects/ef/link") || exists(".git/objects/ab/new") ||
		     exists(".git/objects/cd/pipe"));
}

/* What a command makes in crowds hides nothing that is still there. */
static void test_what_stays_is_told_in_any_case(void **state)
{
	(void)state;
	run(LEFTOVER_GIT, "for i in $(seq 50); do echo > .git/a$i; done; d=.git/refs; "
			  "for i in $(seq 135); do d=$d/d; done; mkdir -p $d");
	assert_non_null(strstr(said, "a directory that cannot be looked at"));
	assert_non_null(strstr(said, "and 30 more like these"));
}

/* zsh's prompt shows it. */
static void test_a_subject_controls_no_terminal(void **state)
{
	(void)state;
	shell("mkdir .git/rebase-merge .git/rebase-apply .git/sequencer; printf 'x\\033x\\n' > "
	      ".git/MERGE_MSG; "
	      "printf 'exec a\\033\\n' > .git/rebase-merge/done; cp .git/MERGE_MSG kept");
	run(LEFTOVER_GIT,
	    "printf 'pick a b\\rc\\r\\n' > .git/sequencer/todo; "

	    "printf 'pick a b\\033\\tb\\302\\233\\303\\251\\n' >> .git/rebase-merge/done; "
	    "printf 'a\\033\\n\\nb\\f\\n' > .git/rebase-apply/0001; cp .git/rebase-apply/0001 "
	    ".git/rebase-apply/msg-clean");
	assert_int_equal(lines, 4);
	assert_non_null(strstr(said, "there are question marks in their place"));
	shell("printf 'exec a\\033\\npick a b?\\tb??\\303\\251\\n' | cmp - .git/rebase-merge/done; "
	      "printf 'a?\\n\\nb\\f\\n' | cmp - .git/rebase-apply/0001; cmp .git/rebase-apply/0001 "
	      ".git/rebase-apply/msg-clean; cmp kept .git/MERGE_MSG");
	shell("printf 'pick a b?c\\r\\n' | cmp - .git/sequencer/todo");
}

static void test_pipes_go(void **state)
{
	(void)state;
	run(LEFTOVER_GIT, "mkfifo .git/MERGE_MSG");
	assert_false(exists(".git/MERGE_MSG"));
	assert_non_null(strstr(said, "a pipe"));
}

static void test_files_and_what_was_there_stay(void **state)
{
	(void)state;
	shell("ln -s /etc/hosts .git/info; ln -s nowhere .git/refs/heads/l");
	run(LEFTOVER_GIT,
	    "echo x > .git/COMMIT_EDITMSG; mkdir -p .git/refs/remotes/o .git/worktrees/w; "
	    "mv .git/index .git/ORIG_HEAD~; rm .git/refs/heads/l");
	assert_true(exists(".git/info") && exists(".git/COMMIT_EDITMSG"));
	assert_string_equal(said, "");
}

static void test_a_link_that_leads_elsewhere_now_goes(void **state)
{
	(void)state;
	shell("ln -s /etc/hosts .git/info; ln -s /etc/hosts .git/other");
	run(LEFTOVER_GIT, "ln -sfn /etc/passwd .git/info; mv .git/other .git/another");
	assert_false(exists(".git/info") || exists(".git/another"));
	assert_int_equal(lines, 2);
}

/* The same name and target, but not the user's: another run may have removed that. */
static void test_a_link_that_was_made_again_goes(void **state)
{
	(void)state;
	shell("ln -s /etc/hosts .git/a; ln -s /etc/hosts .git/b; ln -s /etc/hosts .git/c");
	run(LEFTOVER_GIT, "rm .git/a; ln -s /etc/hosts .git/a; mv .git/b x; mv x .git/b");
	assert_false(exists(".git/a") || exists(".git/b"));
	assert_true(exists(".git/c"));
	assert_int_equal(lines, 2);
}

static void test_what_is_younger_than_another_run_is_not_known(void **state)
{
	(void)state;
	/* A birth is told in ticks of at most 10 ms, a change may be told finer (Linux 6.13). */
	shell("ln -s /etc/hosts .git/old; mkdir .git/rebase-merge; "
	      "echo exec old > .git/rebase-merge/done; sleep 0.03; "
	      "printf '.\\n' > .git/commondir; sleep 0.03; "
	      "ln -s /etc/hosts .git/young; "
	      "echo exec young > .git/rebase-merge/git-rebase-todo");
	run(LEFTOVER_SHARED, "echo exec old >> .git/rebase-merge/git-rebase-todo");
	assert_true(exists(".git/old"));
	assert_false(exists(".git/young"));
	assert_int_equal(lines, 2);
	shell("echo exec old | cmp - .git/rebase-merge/git-rebase-todo");
	shell("ln -s /etc/hosts .git/young");
	run(LEFTOVER_GIT, "true"); /* the twin: there is no other */
	assert_true(exists(".git/young"));
}

static void test_names_of_branches_are_no_places(void **state)
{
	(void)state;
	run(LEFTOVER_GIT, "for d in objects/ab annex/objects hooks modules/m/objects/ab; do "
			  "mkdir -p .git/logs/refs/heads/$d; ln -s / .git/logs/refs/heads/$d/l; "
			  "touch .git/logs/refs/heads/HEAD; done");
	assert_int_equal(lines, 4);
	shell("test -z \"$(find .git -type l)\"");
	shell("mkdir -p .git/modules/a/objects/ab; echo > .git/modules/a/HEAD");
	run(LEFTOVER_GIT, "mkdir -p .git/modules/b/objects/ab; echo > .git/modules/b/HEAD; "
			  "for i in a b; do ln -s / .git/modules/$i/objects/ab/l; done");
	assert_false(exists(".git/modules/b")); /* which is none that git has made */
	assert_int_equal(lines, 3);
}

/* Only the user can have made something there. */
static void test_what_is_locked_is_left_alone(void **state)
{
	(void)state;
	shell("mkdir -p .git/hooks .git/remotes .git/modules/a/hooks .git/refs/hooks; "
	      "echo > .git/modules/a/HEAD");
	run(LEFTOVER_GIT, "for d in hooks remotes modules/a/hooks; do ln -s / .git/$d/l; done");
	assert_string_equal(said, "");
	assert_true(exists(".git/hooks/l") && exists(".git/remotes/l") &&
		    exists(".git/modules/a/hooks/l"));
	run(LEFTOVER_GIT, "mv .git/modules/a .git/modules/b; mkdir -p .git/modules/a/hooks; "
			  "ln -s / .git/modules/a/hooks/l; ln -s / .git/refs/hooks/l; "
			  "echo > .git/modules/a/HEAD");
	assert_false(exists(".git/modules/a/hooks/l") || exists(".git/refs/hooks/l"));
}

/* What the configuration names as a hooks directory is locked under whatever name it has. */
#define LINKS(names, n) /* an index of repositories, whose names have three bytes, n of them */ \
	"{ printf 'DIRC\\0\\0\\0\\2\\0\\0\\0\\" #n "'; for i in " names                         \
	"; do printf '%024d\\0\\0\\340\\0%032d\\0\\3'$i'\\0\\0\\0\\0\\0\\0\\0' 0 0; done; "     \
	"printf '%020d' 0; } > "

static bool cannot_tell; /* a file system of the network, or of FUSE */

int __real_renameat2(int from, const char *name, int to, const char *other, unsigned flags);
int __wrap_renameat2(int from, const char *name, int to, const char *other, unsigned flags);

int __wrap_renameat2(int from, const char *name, int to, const char *other, unsigned flags)
{
	if (!cannot_tell || flags == 0)
		return __real_renameat2(from, name, to, other, flags);
	errno = EINVAL;
	return -1;
}

static unsigned broken; /* which call to list a directory fails; 0: none */

struct dirent *__real_readdir(DIR *d);
struct dirent *__wrap_readdir(DIR *d);

struct dirent *__wrap_readdir(DIR *d)
{
	if (broken == 0 || --broken > 0)
		return __real_readdir(d);
	errno = EIO;
	return NULL;
}

/* An error in the midst of a directory is not its end. */
static void test_a_directory_that_is_read_in_part_is_told(void **state)
{
	struct leftover *l;

	(void)state;
	for (unsigned i = 1; i < 8; i++) {
		l = note(".git", LEFTOVER_GIT);
		broken = i;
		sweep(l);
		assert_int_equal(broken, 0);
		assert_non_null(strstr(said, "a directory that cannot be looked at"));
	}
	run(LEFTOVER_GIT, "true");
	assert_string_equal(said, "");
}

static void test_things_go_where_no_call_tells_whether_a_name_is_free(void **state)
{
	(void)state;
	cannot_tell = true;
	for (int i = 1; i < 3; i++) {
		run(LEFTOVER_GIT,
		    "echo $RANDOM > .git/x; mkdir -p sub/.git; " LINKS("sub", 1) ".git/index");
		assert_int_equal(lines, 2);
		assert_null(strstr(said, "remove it"));
		assert_false(exists(".git/x") || exists("sub/.git"));
		shell("rm .git/index");
	}
	cannot_tell = false;
	shell("test $(ls .git/sbx-net.away | wc -l) = 2; test $(ls -a sub | wc -l) = 4; rm -r sub");
}

/* Twenty lines of one kind hide none of another. */
static void test_a_crowd_hides_nothing_of_another_kind(void **state)
{
	(void)state;
	run(LEFTOVER_GIT,
	    "mkdir -p .git/info; for i in $(seq 60); do d=.git/refs/$i; for j in $(seq 140); "
	    "do d=$d/d; done; mkdir -p $d; done; echo x > .git/info/exclude");
	assert_non_null(strstr(said, "leave out what it lists"));
	assert_non_null(strstr(said, "more like these, which are still there"));
	shell("rm -rf .git/refs");
}

/* What another run has left since it began is none of the user's. */
static void test_links_among_objects_of_another_run_go(void **state)
{
	struct leftover *l;

	(void)state;
	shell("printf '.\\n' > .git/commondir; sleep 0.02; ln -s /etc/passwd .git/objects/ab/x");
	l = note(".git", LEFTOVER_SHARED);
	shell("mv .git/objects/ab .git/hidden; mv .git/hidden .git/objects/ab");
	sweep(l);
	assert_false(exists(".git/objects/ab/x"));
	assert_int_equal(lines, 1);
}

/* Where the command cannot write, its index has nobody rename what is the user's. */
static void test_nothing_is_renamed_out_of_reach(void **state)
{
	int root = open(".git", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct leftover *l;

	(void)state;
	shell("mkdir -p sub/.git");
	l = note(".git", LEFTOVER_GIT);
	shell(LINKS("sub", 1) ".git/index");
	leftover_reach(l, &root, 1);
	sweep(l);
	assert_true(exists("sub/.git"));
	assert_false(exists(".git/index"));
	assert_non_null(strstr(said, "where the command cannot write"));
	(void)close(root);
	shell("rm -r sub");
}

static void test_what_is_locked_by_configuration_is_left_alone(void **state)
{
	struct leftover *l;
	CLEANUP_CLOSE int fd = -1;

	(void)state;
	shell("mkdir -p .git/my .git/other");
	l = note(".git", LEFTOVER_GIT);
	fd = open(".git/my", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	leftover_lock(l, fd);
	shell("ln -s / .git/my/l; ln -s / .git/other/l");
	sweep(l);
	assert_int_equal(lines, 1);
	assert_true(exists(".git/my/l"));
	assert_false(exists(".git/other/l"));
}

static void test_modes_are_put_back(void **state)
{
	struct stat st;

	(void)state;
	run(LEFTOVER_GIT, "mkdir .git/refs/d .git/refs/e; ln -s / .git/refs/d/l; chmod 555 "
			  ".git/refs/d; chmod 0 .git/refs/e");
	assert_false(exists(".git/refs/d/l"));
	assert_int_equal(stat(".git/refs/d", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0555);
	assert_int_equal(stat(".git/refs/e", &st), 0); /* or the next run could not look at it */
	assert_true(geteuid() == 0 || (st.st_mode & 0700) == 0700);
}

static void test_links_that_are_no_harm_stay(void **state)
{
	(void)state;
	run(LEFTOVER_GIT, "ln -sf refs/heads/m .git/HEAD; ln -s me@host.1:2 .git/.#COMMIT_EDITMSG");
	assert_string_equal(said, "");
	assert_true(exists(".git/HEAD") && exists(".git/.#COMMIT_EDITMSG"));
	run(LEFTOVER_GIT, "ln -sf refs/../../x .git/HEAD");
	assert_false(exists(".git/HEAD"));
}

static void test_names_are_escaped(void **state)
{
	(void)state;
	run(LEFTOVER_GIT, "ln -s \"$(printf 'a\\nb')\" .git/\"$(printf 'c\\033d')\"");
	assert_int_equal(lines, 1);
	assert_non_null(strstr(said, "c\\x1bd"));
	assert_non_null(strstr(said, "a\\x0ab"));
}

static void test_taken_permissions_hide_nothing(void **state)
{
	struct stat st;

	(void)state;
	run(LEFTOVER_GIT,
	    "mkdir .git/refs/d; ln -s / .git/refs/d/l; ln -s / .git/l; chmod 0 .git/refs/d .git");
	assert_int_equal(stat(".git", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0);
	shell("chmod 700 .git");
	assert_false(exists(".git/refs/d/l") || exists(".git/l"));
	assert_true(exists(".git/refs/d"));
}

/* Nobody knows what was there: it is told, and stays. */
static void test_what_could_not_be_seen_is_told(void **state)
{
	struct leftover *l;

	(void)state;
	shell("d=.git/deep; for i in $(seq 140); do d=$d/d; done; mkdir -p $d; ln -s / $d/l");
	run(LEFTOVER_GIT, "ln -s / .git/l");
	assert_int_equal(lines, 2); /* one is the new link */
	assert_non_null(strstr(said, "a directory that cannot be looked at"));
	assert_false(exists(".git/l"));
	if (geteuid() == 0)
		return;
	shell("rm -rf .git/deep; mkdir .git/d; ln -s / .git/d/l; chmod 0 .git/d");
	l = note(".git", LEFTOVER_GIT);
	shell("chmod 755 .git/d");
	sweep(l);
	assert_true(exists(".git/d/l"));
	assert_non_null(strstr(said, "it may have been there before"));
}

static void test_any_number_is_told_in_a_few_lines(void **state)
{
	(void)state;
	run(LEFTOVER_GIT, "for i in $(seq 100); do ln -s / .git/l$i; done");
	assert_int_equal(lines, 21);
	assert_non_null(strstr(said, "and 80 more"));
	shell("test -z \"$(find .git -type l)\"");
}

static void test_lines_of_a_rebase_go(void **state)
{
	(void)state;
	run(LEFTOVER_GIT,
	    "mkdir .git/rebase-merge; printf 'pick 1\\nexec touch a\\n x b\\nx\\nlabel x\\n"
	    "execute\\n' > .git/rebase-merge/git-rebase-todo");
	assert_int_equal(lines, 3);
	assert_non_null(strstr(said, "exec touch a; the command has left it, and the line"));
	shell("printf 'pick 1\\nlabel x\\nexecute\\n' | cmp - .git/rebase-merge/git-rebase-todo");
}

static void test_lines_of_the_users_own_rebase_stay(void **state)
{
	(void)state;
	shell("mkdir .git/rebase-merge; printf 'exec make\\npick 1\\n' > "
	      ".git/rebase-merge/git-rebase-todo; "
	      "echo exec check > .git/rebase-merge/done");
	run(LEFTOVER_GIT,
	    "printf 'exec check\\nexec make\\nexec evil' > .git/rebase-merge/git-rebase-todo");
	assert_int_equal(lines, 1);
	shell("printf 'exec check\\nexec make\\n' | cmp - .git/rebase-merge/git-rebase-todo");
}

static void test_a_list_of_a_rebase_that_is_too_large_goes(void **state)
{
	(void)state;
	run(LEFTOVER_GIT,
	    "mkdir -p .git/worktrees/w/rebase-merge; (echo exec x; head -c 5000000 /dev/zero) > "
	    ".git/worktrees/w/rebase-merge/git-rebase-todo");
	assert_false(exists(".git/worktrees/w/rebase-merge/git-rebase-todo"));
	assert_int_equal(lines, 1);
}

static void test_a_strategy_is_no_path(void **state)
{
	(void)state;
	run(LEFTOVER_GIT,
	    "mkdir .git/rebase-merge .git/sequencer; echo x/../evil > .git/rebase-merge/strategy; "
	    "printf '[options]\n\tstrategy = x/../evil\n' > .git/sequencer/opts");
	assert_false(exists(".git/rebase-merge/strategy") || exists(".git/sequencer/opts"));
	assert_int_equal(lines, 2);
	run(LEFTOVER_GIT,
	    "echo ours > .git/rebase-merge/strategy; printf '[options]\n\tstrategy = ours\n"
	    "strategy-option = subtree=a/b\n' > .git/sequencer/opts");
	assert_true(exists(".git/rebase-merge/strategy") && exists(".git/sequencer/opts"));
	assert_int_equal(lines, 0);
}

/* Whatever it is, git may read as much of it as does harm. */
static void test_state_that_is_too_large_goes(void **state)
{
	static const char *const names[] = { "rebase-merge/strategy",
					     "rebase-apply/strategy",
					     "rebase-apply/apply-opt",
					     "sequencer/opts",
					     "rebase-merge/done",
					     "rebase-merge/strategy_opts",
					     "MERGE_RR",
					     "BISECT_NAMES" };

	(void)state;
	shell("mkdir .git/rebase-merge .git/rebase-apply .git/sequencer");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP_FREE char *script = xasprintf("echo ours > .git/%s; truncate -s 5M .git/%s",
						      names[i], names[i]);
		CLEANUP_FREE char *path = xasprintf(".git/%s", names[i]);

		run(LEFTOVER_GIT, script);
		assert_false(exists(path));
		assert_int_equal(lines, 1);
		assert_non_null(strstr(said, "cannot be read whole"));
	}
}

static void test_a_strategy_is_one_of_gits(void **state)
{
	static const char *const evil[] = { "file", "one-file", "tree",	    "index",
					    "x",    "ort x",	"ours\\0x", "Ours" };

	(void)state;
	shell("mkdir .git/rebase-merge .git/sequencer");
	for (size_t i = 0; i < ARRAY_SIZE(evil); i++) {
		CLEANUP_FREE char *merge =
			xasprintf("printf '%s\\n' > .git/rebase-merge/strategy", evil[i]);
		CLEANUP_FREE char *pick =
			xasprintf("printf '[options]\\nstrategy = %s\\n' > .git/sequencer/opts",
				  strchr(evil[i], '\\') ? "file" : evil[i]);

		run(LEFTOVER_GIT, merge);
		assert_false(exists(".git/rebase-merge/strategy"));
		run(LEFTOVER_GIT, pick);
		assert_false(exists(".git/sequencer/opts"));
	}
	shell("echo mine > .git/rebase-merge/strategy");
	run(LEFTOVER_GIT, "printf '[options]\\nstrategy = mine\\n' > .git/sequencer/opts");
	assert_string_equal(said, "");
	assert_true(exists(".git/rebase-merge/strategy") && exists(".git/sequencer/opts"));
}

static void test_options_for_programs_go(void **state)
{
	(void)state;
	shell("mkdir .git/rebase-merge .git/rebase-apply .git/sequencer");
	run(LEFTOVER_GIT,
	    "echo \" '--build-fake-ancestor=/tmp/x'\" > .git/rebase-apply/apply-opt; "
	    "echo ' --index-output=/tmp/x' > .git/rebase-merge/strategy_opts; "
	    "printf '[options]\\nstrategy-option = index-output=x\\n' > .git/sequencer/opts; "
	    "echo ' $(touch x)' > .git/BISECT_NAMES");
	assert_int_equal(lines, 4);
	assert_false(exists(".git/rebase-apply/apply-opt") ||
		     exists(".git/rebase-merge/strategy_opts") || exists(".git/sequencer/opts") ||
		     exists(".git/BISECT_NAMES"));
	shell("echo \" '--x=a b'\" > .git/rebase-apply/apply-opt");
	run(LEFTOVER_GIT,
	    "echo \" '--ours' --find-renames=50%\" > .git/rebase-merge/strategy_opts; "
	    "printf '[options]\\nstrategy-option = subtree=a\\n' > .git/sequencer/opts; "
	    "echo \" 'a b' 'it'\\\\''s'\" > .git/BISECT_NAMES");
	assert_string_equal(said, "");
	run(LEFTOVER_GIT,
	    "echo \" '-p2' '--whitespace=fix' '--directory=x'\" > .git/rebase-apply/apply-opt");
	assert_string_equal(said, "");
	run(LEFTOVER_GIT, "echo \" '--x=a c'\" > .git/rebase-apply/apply-opt");
	assert_false(exists(".git/rebase-apply/apply-opt"));
}

/* The prompts of git and of zsh have a shell, or git log, obey it. */
static void test_the_progress_of_a_rebase_is_numbers(void **state)
{
	(void)state;
	shell("mkdir .git/rebase-merge .git/rebase-apply");
	run(LEFTOVER_GIT,
	    "cd .git/rebase-merge; echo '$(touch x)' > msgnum; printf '3\\0`x`\\n' > end; "
	    "cd ../rebase-apply; echo 'x[1]' > next; echo 1a > last; "
	    "printf 'ab cd\\n--output=x cd\\n' > rewritten; echo -- > original-commit; "
	    "echo ../ab > orig-head");
	assert_int_equal(lines, 7);
	shell("! ls .git/rebase-merge/* .git/rebase-apply/*");
	shell("echo '$x' > .git/rebase-apply/last");
	run(LEFTOVER_GIT, "cd .git/rebase-merge; echo 1 > msgnum; echo 12 > end; "
			  "cd ../rebase-apply; printf 1 > next; printf 'ab cd\\n' > rewritten; "
			  "echo 0123456789abcdef > original-commit; echo ab > orig-head");
	assert_string_equal(said, "");
	shell("test $(ls .git/rebase-merge/* .git/rebase-apply/* | wc -l) = 7");
	run(LEFTOVER_GIT, "echo '$y' > .git/rebase-apply/last");
	assert_int_equal(lines, 1);
}

static void test_the_process_of_a_server_is_the_users(void **state)
{
	(void)state;
	run(LEFTOVER_GIT, "echo 1 > .git/pid");
	assert_int_equal(lines, 1);
	assert_false(exists(".git/pid"));
	shell("echo 1 > .git/pid");
	run(LEFTOVER_GIT, "true");
	assert_string_equal(said, "");
	assert_true(exists(".git/pid"));
}

static void test_a_linked_worktree_leads_to_its_own_repository(void **state)
{
	(void)state;
	shell("mkdir -p .git/worktrees/old; cd .git/worktrees/old; echo x > HEAD; echo /x > "
	      "commondir");
	run(LEFTOVER_GIT,
	    "cd .git/worktrees; mkdir a b c d e; echo ref: refs/heads/x | tee a/HEAD b/HEAD c/HEAD "
	    "d/HEAD; "
	    "echo ../../.. > a/commondir; ln -s x c/commondir; echo ../.. > d/commondir; "
	    "printf '[core]\\nsparseCheckout = 1\\nfsmonitor = x\\n' > d/config.worktree");
	assert_false(exists(".git/worktrees/a/HEAD") || exists(".git/worktrees/b/HEAD") ||
		     exists(".git/worktrees/c/HEAD") || exists(".git/worktrees/d/config.worktree"));
	assert_true(exists(".git/worktrees/d/HEAD") && exists(".git/worktrees/old/HEAD"));
	run(LEFTOVER_GIT,
	    "cd .git/worktrees; mkdir f; echo ref: refs/heads/x > f/HEAD; echo ../.. > "
	    "f/commondir; "
	    "printf '[core]\\n\\tsparseCheckout = true\\n\\tsparseCheckoutCone = true\\n"
	    "[index]\\nsparse = true\\n' > f/config.worktree");
	assert_string_equal(said, "");
	run(LEFTOVER_GIT,
	    "mkdir t u .git/worktrees/t .git/worktrees/u .git/worktrees/v; "
	    "echo gitdir: $PWD/.git/worktrees/t > t/.git; cp t/.git u/.git; for i in t u v; do "
	    "echo $PWD/$i/.git > .git/worktrees/$i/gitdir; done");
	assert_int_equal(lines, 2); /* what is missing now may be anything later */
	assert_false(exists(".git/worktrees/u/gitdir") || exists(".git/worktrees/v/gitdir"));
	run(LEFTOVER_GIT, "echo $PWD > .git/worktrees/v/gitdir; "
			  "printf \"$PWD/t/.git\\\\0\" > .git/worktrees/t/gitdir");
	assert_int_equal(lines, 2);
	run(LEFTOVER_GIT, "echo ../../../t/.git > .git/worktrees/t/gitdir");
	assert_int_equal(lines, 1);
	run(LEFTOVER_GIT, "d=$PWD/$(printf 't\033t'); mkdir $d; cp t/.git $d/.git; echo $d/.git > "
			  ".git/worktrees/t/gitdir"); /* git worktree list would show it */
	assert_int_equal(lines, 1);
	shell("echo ../.. > .git/worktrees/t/commondir; printf '[extensions]\nrelativeWorktrees "
	      "= true\n' > .git/config");
	run(LEFTOVER_GIT, "echo ../../../t/.git > .git/worktrees/t/gitdir");
	assert_int_equal(lines, 0);
	run(LEFTOVER_GIT, "echo /y > .git/worktrees/old/commondir");
	assert_false(exists(".git/worktrees/old/HEAD"));
}

#define PLACES                                                                               \
	"mkdir -p t s .git/worktrees/t .git/worktrees/s .git/worktrees/m .git/worktrees/c; " \
	"for i in t s m; do echo $PWD/$i/.git > .git/worktrees/$i/gitdir; done; "            \
	"echo gitdir: $PWD/.git/worktrees/t > t/.git; mkdir e; ln -s e l; "                  \
	"echo $PWD/l/.git > .git/worktrees/c/gitdir"

/* The user's own stay, whatever they lead to, but not where the command has put something else. */
static void test_the_places_of_linked_worktrees_are_those_of_the_start(void **state)
{
	static const char *const places[] = {
		"m: ln -s /etc m",
		"m: mkdir m",
		"t: rm -r t",
		"t: mv t x; mkdir t",
		"s: rm -r s; mkdir x s",
		"c: rm l; ln -s /etc l",
	};

	(void)state;
	shell(PLACES);
	run(LEFTOVER_GIT, "true");
	assert_string_equal(said, "");
	run(LEFTOVER_GIT, "rm -r t/.git; echo gitdir: ../.git/worktrees/t > t/.git");
	assert_string_equal(said, "");
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		CLEANUP_FREE char *gone = xasprintf(".git/worktrees/%c/gitdir", places[i][0]);

		shell("rm -rf .git/worktrees t s m c e l x; " PLACES);
		run(LEFTOVER_GIT, places[i] + 3);
		if (lines != 1 || exists(gone))
			fail_msg("%s: %s", places[i], said);
	}
	shell("rm -rf .git/worktrees t s m c e l x");
}

/* Where nobody knows the working tree, an index knows of no new repository. */
static void test_an_index_of_no_known_working_tree(void **state)
{
	(void)state;
	shell("mkdir -p .git/worktrees/w; cd .git/worktrees/w; echo /missing/.git > gitdir; "
	      "echo ../.. > commondir; echo ref: refs/heads/m > HEAD; " LINKS("sub", 1) "index");
	run(LEFTOVER_GIT, "true");
	assert_int_equal(lines, 1); /* the user's own, which nobody can look for */
	assert_non_null(strstr(said, "sub; it cannot be looked at"));
	run(LEFTOVER_GIT, LINKS("new sub", 2) ".git/worktrees/w/index");
	assert_false(exists(".git/worktrees/w/index"));
	assert_non_null(strstr(said, "get it back: mv "));
	make_git(NULL);
	shell("T=$PWD; mkdir -p .git/worktrees/w w; cd .git/worktrees/w; echo $T/w/.git > gitdir; "
	      "echo ../.. > commondir; echo ref: refs/heads/m > HEAD; echo gitdir: $PWD > "
	      "$T/w/.git; " LINKS("sub", 1) "index");
	run(LEFTOVER_GIT, "mkdir -p w/sub/.git");
	assert_true(exists("w/sub/.git.sbx-net") && exists(".git/worktrees/w/index"));
	run(LEFTOVER_GIT, "mv w w2; mkdir -p w2/sub/.git"); /* it was known */
	assert_false(exists(".git/worktrees/w/index"));
	shell("rm -rf w2");
}

/* Of a new linked worktree, too. */
static void test_an_index_of_a_new_working_tree(void **state)
{
	(void)state;
	run(LEFTOVER_GIT,
	    "T=$PWD; mkdir -p .git/worktrees/w w/sub; cd .git/worktrees/w; echo $T/w/.git > "
	    "gitdir; "
	    "echo ../.. > commondir; echo ref: refs/heads/m > HEAD; echo gitdir: $PWD > "
	    "$T/w/.git; " LINKS("sub", 1) "index");
	assert_string_equal(said, "");
	assert_true(exists(".git/worktrees/w/index"));
	shell("rm -r w .git/worktrees");
	run(LEFTOVER_GIT,
	    "T=$PWD; mkdir -p .git/worktrees/w w/sub/.git; cd .git/worktrees/w; echo $T/w/.git > "
	    "gitdir; echo ../.. > commondir; echo ref: refs/heads/m > HEAD; echo gitdir: $PWD > "
	    "$T/w/.git; " LINKS("sub", 1) "index");
	assert_int_equal(lines, 1);
	assert_true(exists("w/sub/.git.sbx-net"));
	shell("rm -r w");
}

/* Which directory that is: git's order, and where a file has led. */
static void test_an_index_is_that_of_its_working_tree(void **state)
{
	static const struct {
		const char *before, *tree;
	} trees[] = {
		{ "printf '[core]\nworktree = ../o\n' > .git/config", "o" },
		{ "printf '[extensions]\nworktreeConfig\n[core]\nworktree = ../p\n' > .git/config; "
		  "printf '[core]\nworktree = ../o\n' > .git/config.worktree",
		  "o" },
		{ "printf '[core]\nworktree = ../o\n' > .git/config.worktree", "." },
		{ "true", "." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(trees); i++) {
		CLEANUP_FREE char *script = xasprintf("mkdir -p %s/sub/.git; %s", trees[i].tree,
						      LINKS("sub", 1) ".git/index");
		CLEANUP_FREE char *kept = xasprintf("%s/sub/.git.sbx-net", trees[i].tree);

		make_git(NULL);
		shell("rm -rf o p sub; mkdir o p");
		shell(trees[i].before);
		run(LEFTOVER_GIT, script);
		assert_true(exists(kept));
		assert_true(exists(".git/index"));
	}
	make_git(NULL); /* known at the start, when the placeholder is not written yet */
	shell("rm -rf o p sub; mkdir -p sub/.git; touch .git/commondir; " LINKS("sub",
										1) ".git/index");
	run(LEFTOVER_GIT, "echo . > .git/commondir; touch .git/index");
	assert_string_equal(said, "");
	assert_true(exists("sub/.git"));
	make_git(NULL);
	shell("rm -rf o p sub; mkdir o; mv .git repo; echo gitdir: ../repo > o/.git; ln -s repo "
	      ".git");
	led = open("o", O_PATH | O_DIRECTORY | O_CLOEXEC);
	run(LEFTOVER_GIT, "mkdir -p o/sub/.git; " LINKS("sub", 1) ".git/index");
	cleanup_close(&led);
	led = -1;
	assert_true(exists("o/sub/.git.sbx-net"));
	shell("rm -rf .git repo o");
}

static void test_lines_are_not_made_known_by_a_run(void **state)
{
	(void)state;
	run(LEFTOVER_GIT, "mkdir .git/rebase-merge; printf 'pick 1\\nexec evil\\n' > "
			  ".git/rebase-merge/done");
	assert_int_equal(lines, 1);
	shell("echo pick 1 | cmp - .git/rebase-merge/done");
	run(LEFTOVER_GIT, "echo exec evil > .git/rebase-merge/git-rebase-todo");
	shell("cmp /dev/null .git/rebase-merge/git-rebase-todo");
}

/* Any number of lines that differ. */
static void test_many_lines_are_looked_up_at_once(void **state)
{
	(void)state;
	shell("mkdir .git/rebase-merge; seq 200000 | sed 's/^/x /' > .git/rebase-merge/done");
	run(LEFTOVER_GIT, "mv .git/rebase-merge/done .git/rebase-merge/git-rebase-todo");
	assert_string_equal(said, "");
	shell("test $(wc -l < .git/rebase-merge/git-rebase-todo) = 200000");
}

static void test_resolutions_are_of_plain_files(void **state)
{
	static const char *const paths[] = { "/etc/passwd", "../x", "link", "dir/link/passwd",
					     ".git/../../x" };

	(void)state;
	shell("mkdir dir; echo a > dir/a; ln -s /etc/passwd link; ln -s /etc dir/link");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		CLEANUP_FREE char *script = xasprintf(
			"printf '%040d\\tdir/a\\0%040d.1\\t%s\\0' > .git/MERGE_RR", 1, 2, paths[i]);

		run(LEFTOVER_GIT, script);
		assert_false(exists(".git/MERGE_RR"));
		assert_int_equal(lines, 1);
		assert_non_null(strstr(said, paths[i]));
	}
	run(LEFTOVER_GIT, "printf '%040d\\tdir/a\\0%040d\\tgone\\0' 1 2 > .git/MERGE_RR");
	assert_true(exists(".git/MERGE_RR"));
	assert_int_equal(lines, 0);
	run(LEFTOVER_GIT,
	    "mkdir -p .git/worktrees/w; cp .git/MERGE_RR .git/worktrees/w"); /* not known whose */
	assert_false(exists(".git/worktrees/w/MERGE_RR"));
	shell("mkdir w; touch w/.git; echo $PWD/w/.git > .git/worktrees/w/gitdir");
	run(LEFTOVER_GIT, "cp .git/MERGE_RR .git/worktrees/w"); /* new, and w may be a decoy */
	assert_false(exists(".git/worktrees/w/MERGE_RR"));
	shell("cp .git/MERGE_RR .git/worktrees/w");
	run(LEFTOVER_GIT, "printf '%040d\\tgone\\0' 2 > .git/worktrees/w/MERGE_RR");
	assert_true(exists(".git/worktrees/w/MERGE_RR"));
	shell("cp .git/MERGE_RR .git/worktrees/w");
	run(LEFTOVER_GIT, "mkdir w/dir; ln -s /etc/passwd w/dir/a");
	assert_false(exists(".git/worktrees/w/MERGE_RR"));
	shell("rm -r w/dir; cp .git/MERGE_RR .git/worktrees/w");
	run(LEFTOVER_GIT, "mv w v; mkdir w; touch w/.git");
	assert_false(exists(".git/worktrees/w/MERGE_RR"));
	shell("rm -r dir link w v");
}

#define INDEX(name) /* of one file with a name of four bytes */ \
	"printf 'DIRC\\0\\0\\0\\2\\0\\0\\0\\1%060d\\0\\4" name  \
	"\\0\\0\\0\\0\\0\\0%020d' 0 0 > .git/"

static void test_an_index_does_not_lead_elsewhere(void **state)
{
	static const char *const files[] = { "index", "sharedindex.1", "worktrees/w/index" };

	(void)state;
	shell("mkdir -p .git/worktrees/w");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		CLEANUP_FREE char *good = xasprintf("%s%s", INDEX("name"), files[i]);
		CLEANUP_FREE char *bad = xasprintf("%s%s", INDEX("../n"), files[i]);
		CLEANUP_FREE char *cut = xasprintf("printf DIRC > .git/%s", files[i]);
		CLEANUP_FREE char *path = xasprintf(".git/%s", files[i]);

		run(LEFTOVER_GIT, good);
		assert_true(exists(path));
		assert_int_equal(lines, 0);
		run(LEFTOVER_GIT, bad);
		assert_false(exists(path));
		assert_int_equal(lines, 1);
		assert_non_null(strstr(said, "../n; the command has left it"));
		run(LEFTOVER_GIT, cut);
		assert_false(exists(path));
		shell(bad);
		run(LEFTOVER_GIT, "touch .git/MERGE_MSG"); /* it was there */
		assert_true(exists(path));
		assert_int_equal(lines, 0);
	}
	/* a branch may have any name */
	run(LEFTOVER_GIT, "printf '%040d\\n' 1 > .git/refs/heads/index");
	assert_true(exists(".git/refs/heads/index"));
	run(LEFTOVER_GIT, INDEX("../n") "index; chmod 0 .git/index");
	assert_false(exists(".git/index"));
}

#define SPARSE(object) /* an index of a directory, a/, whose names that object has */ \
	"printf 'DIRC\\0\\0\\0\\2\\0\\0\\0\\1%024d\\0\\0\\100\\0%032d\\0\\2a/"        \
	"\\0\\0\\0\\0\\0\\0\\0\\0%020d' 0 " object " 0 > .git/index"

static void test_no_repository_is_left_where_an_index_leaves_names_out(void **state)
{
	struct stat st;

	(void)state;
	run(LEFTOVER_GIT, "mkdir -p a/b/.git; " SPARSE("0"));
	assert_true(exists(".git/index") && exists("a/b/.git.sbx-net"));
	assert_false(exists("a/b/.git"));
	assert_int_equal(lines, 1);
	shell("mkdir -p a/c/.git");
	run(LEFTOVER_GIT, SPARSE("0")); /* the object was there */
	assert_true(exists("a/c/.git"));
	assert_int_equal(lines, 0);
	run(LEFTOVER_GIT, "chmod 500 a/c; " SPARSE("1"));
	assert_false(exists("a/c/.git"));
	assert_int_equal(stat("a/c", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0500);
	run(LEFTOVER_GIT, "mkdir -p a/d/.git a/d/.git.sbx-net a/d/.git.sbx-net.1; " SPARSE("2"));
	assert_false(exists("a/d/.git"));
	assert_non_null(strstr(said, "its .git is .git.sbx-net."));
	assert_non_null(strstr(said, "/a/d/.git\n")); /* what gets it back ends with it */
	run(LEFTOVER_GIT, "rm -r a; " SPARSE("3"));
	assert_true(exists(".git/index"));
	assert_int_equal(lines, 0);
	run(LEFTOVER_GIT,
	    "d=a; while [ ${#d} -lt 300 ]; do d=$d/a; done; mkdir -p $d; " SPARSE("4"));
	assert_false(exists(".git/index"));
	assert_non_null(strstr(said, "that cannot be looked at"));
	shell("rm -r a");
}

static void test_an_index_has_names_as_long_as_the_configuration_says(void **state)
{
	(void)state;
	shell("printf '[extensions]\n objectFormat = sha256\n' > .git/config");
	run(LEFTOVER_GIT, INDEX("name") "index");
	assert_false(exists(".git/index"));
	run(LEFTOVER_GIT, "printf 'DIRC\\0\\0\\0\\2\\0\\0\\0\\1%072d\\0\\4name\\0\\0%032d' 0 0 "
			  "> .git/index");
	assert_true(exists(".git/index"));
}

/* Files without a block on the disk, for which the end of a run would be kept waiting. */
static void test_what_is_read_of_all_files_is_bounded(void **state)
{
	(void)state;
	/* an index of no file, and 200 MiB of something that git passes over */
	shell("printf 'DIRC\\0\\0\\0\\2\\0\\0\\0\\0junk\\014\\200\\0\\0' > large; "
	      "truncate -s 209715240 large");
	run(LEFTOVER_GIT, "ln large .git/sharedindex.1; ln large .git/sharedindex.2");
	assert_int_equal(lines, 0);
	run(LEFTOVER_GIT, "for i in 3 4 5 6; do ln large .git/sharedindex.$i; done");
	assert_true(lines > 0);
	assert_non_null(strstr(said, "cannot be read whole"));
	shell("rm large");
	/* 20,000 repositories, of which there is none */
	run(LEFTOVER_GIT,
	    "{ printf 'DIRC\\0\\0\\0\\2\\0\\0\\116\\040'; for i in $(seq 20000); do "
	    "printf '%024d\\0\\0\\340\\0%032d\\0\\5%05d\\0\\0\\0\\0\\0' 0 0 $i; done; "
	    "printf '%020d' 0; } > .git/index");
	assert_false(exists(".git/index"));
}

static void test_an_autostash_goes(void **state)
{
	(void)state;
	run(LEFTOVER_GIT,
	    "printf '%040d\\n' 123 | tee .git/MERGE_AUTOSTASH > .git/refs/heads/MERGE_AUTOSTASH");
	assert_false(exists(".git/MERGE_AUTOSTASH"));
	assert_true(exists(".git/refs/heads/MERGE_AUTOSTASH"));
	assert_int_equal(lines, 1);
	assert_non_null(strstr(said, "123; the command has left it"));
	shell("echo 123 > .git/MERGE_AUTOSTASH");
	run(LEFTOVER_GIT, "echo 123 > .git/MERGE_AUTOSTASH");
	assert_true(exists(".git/MERGE_AUTOSTASH"));
	run(LEFTOVER_GIT, "echo 124 > .git/MERGE_AUTOSTASH");
	assert_false(exists(".git/MERGE_AUTOSTASH"));
}

static void test_a_tree_does_not_become_a_repository(void **state)
{
	(void)state;
	run(LEFTOVER_TREE, "mkdir objects refs; echo 'ref: refs/heads/m' > HEAD; echo > config");
	assert_false(exists("HEAD"));
	assert_true(exists("config"));
	assert_int_equal(lines, 1);
	shell("echo x > HEAD");
	run(LEFTOVER_TREE, "touch new"); /* it was there */
	assert_true(exists("HEAD"));
	assert_int_equal(lines, 0);
	shell("rm -r HEAD config objects refs new");
	shell("mkdir o; echo 'ref: refs/heads/m' > o/HEAD");
	run(LEFTOVER_TREE, "mkdir -p z/objects z/refs; echo z > commondir; cp o/HEAD .");
	assert_false(exists("HEAD") || exists("commondir"));
	assert_int_equal(lines, 2);
	run(LEFTOVER_TREE, "printf '%040d\\n' 1 > HEAD"); /* one thing with each run */
	assert_false(exists("HEAD"));
	run(LEFTOVER_TREE, "echo z > commondir");
	assert_false(exists("commondir"));
	shell("echo words > HEAD; mkdir objects refs");
	run(LEFTOVER_TREE, "cp o/HEAD HEAD");
	assert_false(exists("HEAD"));
	run(LEFTOVER_TREE, "echo other words > HEAD");
	assert_true(exists("HEAD"));
	shell("rm -r HEAD objects refs o z");
	run(LEFTOVER_TREE, "mkdir .dotest; echo x > .dotest/head-name");
	assert_true(exists(".dotest.sbx-net/head-name") && lines == 1);
	run(LEFTOVER_TREE, "mv .dotest.sbx-net .dotest; mkdir .dotest/d");
	assert_false(exists(".dotest"));
	shell("mv .dotest.sbx-net .dotest");
	run(LEFTOVER_TREE, "echo y > .dotest/head-name"); /* it was there */
	assert_true(exists(".dotest") && lines == 0);
	shell("rm -r .dotest");
	run(LEFTOVER_TREE, "mkdir refs HEAD"); /* a project may have names like these */
	assert_true(exists("HEAD"));
	assert_int_equal(lines, 0);
}

static void test_what_a_killed_run_left_is_told(void **state)
{
	struct leftover *l;

	(void)state;
	shell("ln -s /etc/hosts .git/FETCH_HEAD; mkdir .git/rebase-merge; "
	      "echo exec x > .git/rebase-merge/git-rebase-todo");
	l = note(".git", LEFTOVER_ORPHAN);
	assert_int_equal(lines, 2);
	assert_non_null(strstr(said, "killed with all its processes"));
	said[0] = '\0';
	sweep(l);
	assert_true(exists(".git/FETCH_HEAD"));
	assert_string_equal(said, "");
}

#define OBJECT "0123456789012345678901234567890123456789"

/* What is left of what git itself would not write, and of names that git does not know. */
static void test_what_git_would_not_write_is_put_away(void **state)
{
	static const struct {
		const char *name, *text; /* printf's */
	} files[] = {
		{ "HEAD", "ref: refs/heads/a b\\n" },
		{ "HEAD", "ref: refs/heads/a\\033]0;x\\007\\n" },
		{ "HEAD", "ref: ../x\\n" },
		{ "packed-refs", OBJECT " ../x\\n" },
		{ "packed-refs", "x\\n" },
		{ "shallow", "../x\\n" },
		{ "FETCH_HEAD", OBJECT " x\\n" },
		{ "FETCH_HEAD", OBJECT "\\t\\tbranch \\033[2J\\n" },
		{ "description", "a\\033b\\n" },
		{ "gc.log", "a\\033b\\n" },
		{ "MERGE_MODE", "no ff\\n" },
		{ "BISECT_START", "--orphan\\n" },
		{ "BISECT_TERMS", "a\\n-b\\n" },
		{ "info/grafts", OBJECT "\\n" },
		{ "info/other", "x" },
		{ "objects/info/alternates", "/x\\n" },
		{ "objects/info/http-alternates", "http://x/\\n" },
		{ "objects/other", "x" },
		{ "refs/heads/b", "x\\n" },
		{ "refs/heads/b", "ref: refs/remotes/o/x\\n" },
		{ "refs/remotes/o/HEAD", "ref: refs/heads/m\\n" },
		{ "refs/remotes/o/HEAD", "ref: refs/remotes/p/m\\n" },
		{ "refs/replace/" OBJECT, OBJECT "\\n" },
		{ "refs/heads/a b", OBJECT "\\n" },
		{ "logs/refs/heads/..x", "x" },
		{ "rebase-merge/head-name", "a b\\n" },
		{ "rebase-merge/head-name", "config\\n" },
		{ "rebase-merge/gpg_sign_opt", "-S --x\\n" },
		{ "rebase-merge/author-script", "GIT_AUTHOR_NAME=$(x)\\n" },
		{ "rebase-merge/refs-to-delete", "../x\\n" },
		{ "rebase-merge/autostash", "--x\\n" },
		{ "rebase-merge/other", "x" },
		{ "rebase-apply/sign", "t --x\\n" },
		{ "rebase-apply/other", "x" },
		{ "sequencer/todo", "pick x\\nexec x\\n" },
		{ "sequencer/opts", "[other]\\nx = y\\n" },
		{ "sequencer/opts", "[options]\\nother = y\\n" },
		{ "rr-cache/x", "x" },
		{ "rr-cache/ab/other", "x" },
		{ "svn/.caches/x.db", "x" },
		{ "svn/.metadata", "[core]\\npager = x\\n" },
		{ "annex/daemon.pid", "1" },
		{ "index.stash.1", "DIRC" },
		{ "info/lefthook-unstaged.patch", "x" },
		{ "lint-staged_unstaged.patch", "x" },
		{ "svn/refs/remotes/trunk/unhandled.log", "r1\\n  +empty_dir: ../x\\n" },
		{ "svn/refs/remotes/trunk/unhandled.log.gz", "x" },
		{ "worktrees/x", "x" },
		{ "modules/x", "x" },
		{ "patches/m/applied", "x" },
		{ ".dotest-merge/head-name", "x" },
		{ "git-daemon-export-ok", "" },
		{ "gitk.cache", "1 1" },
		{ "README.html", "x" },
		{ ".COMMIT_EDITMSG.swp", "x" },
		{ "head", "ref: refs/heads/m\\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		CLEANUP_FREE char *path = xasprintf(".git/%s", files[i].name);
		CLEANUP_FREE char *script =
			xasprintf("mkdir -p \"$(dirname '%s')\"; printf -- '%s' > '%s'", path,
				  files[i].text, path);

		make_git(NULL);
		run(LEFTOVER_GIT, script);
		if (exists(path) || lines != 1)
			fail_msg("%s: %s", path, said);
		assert_non_null(strstr(said, "has been put away"));
		shell("test $(find .git/sbx-net.away -type f | wc -l) = 1");
		/* the twin: what was there stays */
		make_git(NULL);
		shell(script);
		run(LEFTOVER_GIT, "true");
		if (!exists(path) || lines)
			fail_msg("%s: %s", path, said);
	}
}

/* And what it writes stays, as does what other tools are known to keep there. */
static void test_what_git_writes_stays(void **state)
{
	static const struct {
		const char *name, *text; /* printf's */
	} files[] = {
		{ "HEAD", "ref: refs/heads/a/$(b)\\n" },
		{ "HEAD", OBJECT "\\n" },
		{ "HEAD.lock", "x" },
		{ "packed-refs", "# pack-refs with: peeled fully-peeled sorted \\n" OBJECT
				 " refs/tags/v1\\n^" OBJECT "\\n" },
		{ "shallow", OBJECT "\\n" OBJECT "\\n" },
		{ "FETCH_HEAD", OBJECT "\\t\\tbranch '\\''m'\\'' of https://a.example/b\\n" OBJECT
				       "\\tnot-for-merge\\ttag '\\''v1'\\'' of ../b\\n" },
		{ "description", "Unnamed r\\303\\251pository\\n" },
		{ "gc.log", "warning: x\\n" },
		{ "fast_import_crash_4", "x" },
		{ "gc.pid", "1 host" },
		{ "MERGE_MODE", "no-ff" },
		{ "SQUASH_MSG", "\\033 any\\n" },
		{ "BISECT_START", "main\\n" },
		{ "BISECT_TERMS", "bad\\ngood\\n" },
		{ "info/sparse-checkout", "/*\\n" },
		{ "objects/info/packs", "P x\\n" },
		{ "objects/pack/pack-x.pack", "x" },
		{ "objects/pack/multi-pack-index", "x" },
		{ "objects/info/commit-graphs/graph-x.graph", "x" },
		{ "refs/heads/b", OBJECT "\\n" },
		{ "refs/heads/b", "ref: refs/heads/m\\n" },
		{ "refs/heads/b", "ref: HEAD\\n" },
		{ "refs/remotes/o/HEAD", "ref: refs/remotes/o/m\\n" },
		{ "refs/jj/keep/" OBJECT, OBJECT "\\n" },
		{ "logs/refs/heads/b", "x" },
		{ "rebase-merge/head-name", "detached HEAD\\n" },
		{ "rebase-merge/head-name", "refs/heads/a\\n" },
		{ "rebase-merge/gpg_sign_opt", "-Sme@host.example\\n" },
		{ "rebase-merge/author-script", "GIT_AUTHOR_NAME='\\''A'\\''\\n"
						"GIT_AUTHOR_DATE='\\''@1 +0000'\\''\\n" },
		{ "rebase-merge/update-refs", "refs/heads/x\\n" OBJECT "\\n" OBJECT "\\n" },
		{ "rebase-apply/0001", "x" },
		{ "rebase-apply/sign", "t\\n" },
		{ "sequencer/todo", "pick x y\\n# exec\\n" },
		{ "sequencer/opts", "[options]\\nedit = true\\ngpg-sign = me@host.example\\n" },
		{ "rr-cache/ab12/preimage.1", "x" },
		{ "svn/refs/remotes/git-svn/.rev_map.1", "x" },
		{ "svn/.metadata", "[svn-remote \"svn\"]\\n\\treposRoot = https://a.example/x\\n" },
		{ "annex/journal/x", "x" },
		{ "lfs/objects/ab/cd/x", "x" },
		{ "lfs/tmp/x", "x" },
		{ "opencode", OBJECT },
		{ "info/lefthook.checksum", OBJECT },
		{ "COMMIT_EDITMSG~", "x" },
		{ "filter-repo/commit-map", "x" },
		{ "worktrees/w/locked", "x\\n" },
		{ "reftable/tables.list", "x" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		CLEANUP_FREE char *path = xasprintf(".git/%s", files[i].name);
		CLEANUP_FREE char *script =
			xasprintf("mkdir -p \"$(dirname '%s')\"; printf -- '%s' > '%s'", path,
				  files[i].text, path);

		make_git(NULL);
		run(LEFTOVER_GIT, script);
		if (!exists(path) || lines)
			fail_msg("%s: %s", path, said);
	}
}

/* They are data, and git shows less of what the command has done by them. */
static void test_what_hides_is_told(void **state)
{
	(void)state;
	shell("mkdir .git/info; touch .git/info/exclude");
	run(LEFTOVER_GIT, "echo x > .git/info/exclude; echo '* -diff' > .git/info/attributes");
	assert_int_equal(lines, 2);
	assert_non_null(strstr(said, "info/exclude: git status"));
	assert_true(exists(".git/info/exclude") && exists(".git/info/attributes"));
	run(LEFTOVER_GIT,
	    "echo /x > .git/info/sparse-checkout; printf '# x\\n\\n' > .git/info/exclude");
	assert_int_equal(lines, 0);
}

/* One object in the place of another: the user's stays, wherever git has put it. */
static void test_new_replacements_go(void **state)
{
	(void)state;
	shell("mkdir -p .git/refs/replace; echo " OBJECT " > .git/refs/replace/aa; "
	      "printf '%s refs/replace/bb\\n' " OBJECT " > .git/packed-refs");
	run(LEFTOVER_GIT, "rm .git/refs/replace/aa; echo " OBJECT " > .git/refs/replace/bb; "
			  "for r in heads/a replace/aa tags/t replace/bb replace/cc; do "
			  "echo " OBJECT " refs/$r; echo ^" OBJECT "; done > .git/packed-refs");
	assert_int_equal(lines, 1);
	assert_non_null(strstr(said, "refs/replace/cc; the command has left it, and the line"));
	shell("test $(wc -l < .git/packed-refs) = 8; ! grep -q cc .git/packed-refs");
	assert_true(exists(".git/refs/replace/bb"));
	run(LEFTOVER_GIT, "echo 1" OBJECT " > .git/refs/replace/bb");
	assert_int_equal(lines, 1);
	assert_false(exists(".git/refs/replace/bb"));
}

/* A tool that is not known: its directory stays as it was, and what is new in it is put away. */
static void test_directories_of_unknown_tools(void **state)
{
	(void)state;
	shell("mkdir -p .git/tool/d; echo 1 > .git/tool/d/a; echo 1 > .git/tool/d/b");
	run(LEFTOVER_GIT, "echo 2 > .git/tool/d/b; mkdir -p .git/tool/e .git/new/empty; "
			  "echo 2 > .git/tool/e/c");
	assert_int_equal(lines, 2);
	shell("test $(cat .git/tool/d/a) = 1; cmp .git/sbx-net.away/e/c .git/sbx-net.away/b");
	assert_false(exists(".git/new")); /* git might take one for a lock file */
	assert_false(exists(".git/tool/d/b") || exists(".git/tool/e"));
	/* with the command that is told it is there again, and from then on the user's */
	shell("mv .git/sbx-net.away/e .git/tool/e");
	run(LEFTOVER_GIT, "true");
	assert_true(exists(".git/tool/e/c"));
	assert_int_equal(lines, 0);
	run(LEFTOVER_GIT, "mkdir .git/other; touch .git/other/f; chmod 0 .git/other");
	assert_false(exists(".git/other"));
	assert_true(exists(".git/sbx-net.away/other/f"));
	/* of another run it is not known whose it is */
	shell("sleep 0.03; printf '.\\n' > .git/commondir; sleep 0.03; mkdir .git/young; "
	      "touch .git/young/f; echo 3 > .git/tool/d/a");
	run(LEFTOVER_SHARED, "true");
	assert_false(exists(".git/young") || exists(".git/tool/d/a"));
	assert_true(exists(".git/tool/e/c"));
}

/* A person's working trees in a git directory: those of a bare repository, and those that a tool keeps. */
static void test_working_trees_are_left_alone(void **state)
{
	struct leftover *l;

	(void)state;
	shell("mkdir -p .git/tool/tree .git/tool/d; touch .git/tool/tree/.git");
	run(LEFTOVER_GIT, "touch .git/tool/d/.git .git/tool/d/a .git/tool/tree/a");
	assert_true(exists(".git/tool/tree/a"));
	assert_false(exists(".git/tool/d/a") || exists(".git/tool/d/.git"));
	shell("rm -rf bare; mv .git bare; mkdir bare/old");
	l = note("bare", LEFTOVER_GIT);
	shell("mkdir bare/new bare/info; touch bare/new/.git bare/new/a bare/old/b bare/README "
	      "bare/info/grafts");
	sweep(l);
	assert_true(exists("bare/new/a") && exists("bare/old/b") && exists("bare/README"));
	assert_false(exists("bare/info/grafts")); /* but what git knows is looked at */
	assert_int_equal(lines, 1);
	shell("rm -rf bare");
}

/* What the command does to the place where things are put. */
static void test_nothing_is_lost_where_things_are_put(void **state)
{
	(void)state;
	run(LEFTOVER_GIT, "mkdir .git/sbx-net.away; echo 1 > .git/sbx-net.away/x; echo 2 > .git/x");
	assert_int_equal(lines, 1);
	shell("test $(cat .git/sbx-net.away/x) = 1; grep -q 2 .git/sbx-net.away/x.*");
	run(LEFTOVER_GIT, "chmod 500 .git/sbx-net.away; echo 3 > .git/y");
	assert_false(exists(".git/y"));
	shell("chmod 700 .git/sbx-net.away; grep -qr 3 .git/sbx-net.away*");
	make_git(NULL);
	shell("mkdir there");
	run(LEFTOVER_GIT, "ln -s ../there .git/sbx-net.away; echo 4 > .git/z");
	assert_false(exists(".git/z") || exists("there/z"));
	shell("rmdir there; grep -qr 4 .git/sbx-net.away*");
	make_git(NULL);
	run(LEFTOVER_GIT, "mkdir -p .git/worktrees/w/sbx-net.away; echo x > "
			  ".git/worktrees/w/sbx-net.away/x; echo x "
			  "> .git/worktrees/w/x");
	assert_int_equal(lines, 1); /* where a sweep of the worktree's own has put it */
	assert_true(exists(".git/worktrees/w/sbx-net.away/x") && exists(".git/sbx-net.away/x"));
	make_git(NULL);
	run(LEFTOVER_GIT, "echo 5 > \".git/\\$(touch x)\"");
	assert_null(strstr(said, "mv "));
	assert_true(exists(".git/sbx-net.away/odd"));
}

#define MODULE(dir, more)                                                                   \
	"d=.git/modules/" dir "; mkdir -p $d/hooks $d/objects $d/refs sub; "                \
	"echo gitdir: ../$d > sub/.git; echo 'ref: refs/heads/m' > $d/HEAD; "               \
	"printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfilemode = true\\n"           \
	"\\tbare = false\\n\\tlogallrefupdates = true\\n\\tworktree = ../../../sub\\n"      \
	"[remote \"origin\"]\\n\\turl = https://a.example/x.git\\n"                         \
	"\\tfetch = +refs/heads/*:refs/remotes/origin/*\\n[branch \"m\"]\\n"                \
	"\\tremote = origin\\n\\tmerge = refs/heads/m\\n' > $d/config; "                    \
	"touch $d/hooks/pre-commit.sample; printf 'DIRC\\0\\0\\0\\2\\0\\0\\0\\1%024d\\0\\0" \
	"\\340\\0%032d\\0\\3sub\\0\\0\\0\\0\\0\\0\\0%020d' 0 0 0 > .git/index; " more

#define REGISTERED \
	"printf '[submodule \"sub\"]\\n\\turl = https://a.example/x.git\\n' > .git/config"

/* A submodule that the command has fetched is one outside, if git obeys nothing in it. */
static void test_a_new_submodule_obeys_nothing(void **state)
{
	static const char *const evil[] = {
		"printf '[core]\\n\\tfsmonitor = x\\n' >> $d/config",
		"printf '[core]\\n\\tfsmonitor = x\\n' > $d/config",
		"printf '[core]\\n\\tfsmonitor\\n' >> $d/config",
		"printf '[include]\\n\\tpath = x\\n' >> $d/config",
		"printf '\\0\\n[core]\\n\\tfsmonitor = x\\n' >> $d/config",
		"printf '[%080d][core]fsmonitor = x\\n' 0 >> $d/config",
		"printf '[branch \"\\033\"]\\n\\tmerge = x\\n' >> $d/config",
		"printf '# \\r \\n' >> $d/config",
		"printf 'x\\n[' >> $d/config",
		"sed -i 's/core/core \"x\"/' $d/config",
		"sed -i 's/\"origin\"/\"o\"/' $d/config",
		"sed -i '/url/d' $d/config",
		"sed -i 's/remote = origin/&\\f/' $d/config",
		"sed -i \"s,/sub,/sub$(printf '\\013'),\" $d/config",
		"sed -i s,x.git,y.git, $d/config",
		"sed -i 's,remote = origin,remote = x.git,' $d/config",
		"printf '[remote \"o\"]\\n\\turl = ../x\\n' >> $d/config",
		"printf '[remote \"o\"]\\n\\turl = ext::x\\n' >> $d/config",
		"printf '[remote \"o\"]\\n\\tuploadpack = x\\n' >> $d/config",
		"sed -i s,/sub,/.git/hooks, $d/config",
		"sed -i s,../../../sub,../../../.., $d/config",
		"sed -i s,../../../sub,/tmp, $d/config",
		"ln -s /tmp l; sed -i s,/sub,/l, $d/config",
		"touch $d/hooks/pre-commit",
		"echo ../x > $d/commondir",
		"touch $d/config.worktree",
		"mkdir -p $d/remotes; touch $d/remotes/o",
		"cp .git/index $d/index; mkdir -p sub/sub/.git",
		"cp .git/index $d/sharedindex.1; mkdir -p sub/sub/.git",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(evil); i++) {
		CLEANUP_FREE char *script = xasprintf("%s%s", MODULE("sub", ""), evil[i]);

		make_git(NULL);
		shell(REGISTERED);
		run(LEFTOVER_GIT, script);
		if (exists(".git/modules/sub") || exists("sub/.git"))
			fail_msg("%s: %s", evil[i], said);
		assert_true(exists(".git/sbx-net.away/sub/config") && exists("sub/.git.sbx-net"));
		assert_non_null(strstr(said, "get it back: mv "));
		shell("rm -rf sub l");
	}
	make_git(NULL);
	shell(REGISTERED);
	run(LEFTOVER_GIT,
	    MODULE("sub",
		   "cp .git/index $d/index; mkdir -p sub/sub; printf "
		   "'[lfs]\\n\\trepositoryformatversion = 0\\n[branch \"m\"]\\nrebase = true\\n"
		   "[submodule \"n\"]\\nactive = true\\n[extensions]\\npartialclone = origin\\n"
		   "[remote \"origin\"]\\npromisor = true\\npartialclonefilter = blob:none\\n' "
		   ">> $d/config"));
	assert_string_equal(said, "");
	assert_true(exists(".git/modules/sub/config") && exists("sub/.git"));
	shell("rm -rf sub");
	make_git(NULL);
	shell(REGISTERED);
	shell("mkdir -p .git/modules/sub; touch .git/modules/sub/HEAD; printf '[user]\\nname = "
	      "x\\n' "
	      "> .git/modules/sub/config"); /* the user's own, checked out again */
	run(LEFTOVER_GIT, "mkdir -p sub; echo gitdir: ../.git/modules/sub > sub/.git; " LINKS(
				  "sub", 1) ".git/index");
	assert_string_equal(said, "");
	assert_true(exists("sub/.git"));
	make_git(NULL);
	shell("rm -rf sub; " REGISTERED);
	run(LEFTOVER_GIT, MODULE("sub", "echo x > $d/refs/x; echo x > $d/x; rm sub/.git"));
	assert_int_equal(lines, 2); /* it is looked at like any other */
	assert_true(exists(".git/modules/sub/config"));
	shell("rm -rf sub");
}

static int enter_top(void **state)
{
	char dir[] = "/tmp/test-leftover-XXXXXX";

	(void)state;
	if (!mkdtemp(dir) || !realpath(dir, top))
		return -1;
	return chdir(top);
}

static int leave_top(void **state)
{
	CLEANUP_FREE char *script = xasprintf("rm -rf '%s'", top);

	(void)state;
	shell(script);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_links_go, make_git),
		cmocka_unit_test_setup(test_links_by_names_of_others_go, make_git),
		cmocka_unit_test_setup(test_links_by_names_of_gits_stay, make_git),
		cmocka_unit_test_setup(test_only_files_are_among_objects, make_git),
		cmocka_unit_test_setup(test_what_stays_is_told_in_any_case, make_git),
		cmocka_unit_test_setup(test_a_subject_controls_no_terminal, make_git),
		cmocka_unit_test_setup(test_links_inside_go, make_git),
		cmocka_unit_test_setup(test_pipes_go, make_git),
		cmocka_unit_test_setup(test_files_and_what_was_there_stay, make_git),
		cmocka_unit_test_setup(test_a_link_that_leads_elsewhere_now_goes, make_git),
		cmocka_unit_test_setup(test_a_link_that_was_made_again_goes, make_git),
		cmocka_unit_test_setup(test_what_is_younger_than_another_run_is_not_known,
				       make_git),
		cmocka_unit_test_setup(test_names_of_branches_are_no_places, make_git),
		cmocka_unit_test_setup(test_what_is_locked_is_left_alone, make_git),
		cmocka_unit_test_setup(test_what_is_locked_by_configuration_is_left_alone,
				       make_git),
		cmocka_unit_test_setup(test_a_directory_that_is_read_in_part_is_told, make_git),
		cmocka_unit_test_setup(test_things_go_where_no_call_tells_whether_a_name_is_free,
				       make_git),
		cmocka_unit_test_setup(test_a_crowd_hides_nothing_of_another_kind, make_git),
		cmocka_unit_test_setup(test_links_among_objects_of_another_run_go, make_git),
		cmocka_unit_test_setup(test_nothing_is_renamed_out_of_reach, make_git),
		cmocka_unit_test_setup(test_modes_are_put_back, make_git),
		cmocka_unit_test_setup(test_links_that_are_no_harm_stay, make_git),
		cmocka_unit_test_setup(test_names_are_escaped, make_git),
		cmocka_unit_test_setup(test_taken_permissions_hide_nothing, make_git),
		cmocka_unit_test_setup(test_what_could_not_be_seen_is_told, make_git),
		cmocka_unit_test_setup(test_any_number_is_told_in_a_few_lines, make_git),
		cmocka_unit_test_setup(test_lines_of_a_rebase_go, make_git),
		cmocka_unit_test_setup(test_lines_of_the_users_own_rebase_stay, make_git),
		cmocka_unit_test_setup(test_a_list_of_a_rebase_that_is_too_large_goes, make_git),
		cmocka_unit_test_setup(test_a_strategy_is_no_path, make_git),
		cmocka_unit_test_setup(test_state_that_is_too_large_goes, make_git),
		cmocka_unit_test_setup(test_a_strategy_is_one_of_gits, make_git),
		cmocka_unit_test_setup(test_options_for_programs_go, make_git),
		cmocka_unit_test_setup(test_the_progress_of_a_rebase_is_numbers, make_git),
		cmocka_unit_test_setup(test_a_linked_worktree_leads_to_its_own_repository,
				       make_git),
		cmocka_unit_test_setup(test_the_process_of_a_server_is_the_users, make_git),
		cmocka_unit_test_setup(test_the_places_of_linked_worktrees_are_those_of_the_start,
				       make_git),
		cmocka_unit_test_setup(test_an_index_of_no_known_working_tree, make_git),
		cmocka_unit_test_setup(test_an_index_of_a_new_working_tree, make_git),
		cmocka_unit_test_setup(test_an_index_is_that_of_its_working_tree, make_git),
		cmocka_unit_test_setup(test_lines_are_not_made_known_by_a_run, make_git),
		cmocka_unit_test_setup(test_many_lines_are_looked_up_at_once, make_git),
		cmocka_unit_test_setup(test_resolutions_are_of_plain_files, make_git),
		cmocka_unit_test_setup(test_an_index_does_not_lead_elsewhere, make_git),
		cmocka_unit_test_setup(test_no_repository_is_left_where_an_index_leaves_names_out,
				       make_git),
		cmocka_unit_test_setup(test_an_index_has_names_as_long_as_the_configuration_says,
				       make_git),
		cmocka_unit_test_setup(test_what_is_read_of_all_files_is_bounded, make_git),
		cmocka_unit_test_setup(test_an_autostash_goes, make_git),
		cmocka_unit_test_setup(test_a_tree_does_not_become_a_repository, make_git),
		cmocka_unit_test_setup(test_what_git_would_not_write_is_put_away, make_git),
		cmocka_unit_test_setup(test_what_git_writes_stays, make_git),
		cmocka_unit_test_setup(test_what_hides_is_told, make_git),
		cmocka_unit_test_setup(test_new_replacements_go, make_git),
		cmocka_unit_test_setup(test_directories_of_unknown_tools, make_git),
		cmocka_unit_test_setup(test_working_trees_are_left_alone, make_git),
		cmocka_unit_test_setup(test_nothing_is_lost_where_things_are_put, make_git),
		cmocka_unit_test_setup(test_a_new_submodule_obeys_nothing, make_git),
		cmocka_unit_test_setup(test_what_a_killed_run_left_is_told, make_git),
	};

	return cmocka_run_group_tests(tests, enter_top, leave_top);
}

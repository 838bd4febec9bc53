/* Placeholders: what is made, what is locked, and that nothing else is ever removed. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
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
#include "launcher/files/protect.h"

static char top[PATH_MAX];

static struct launcher_plan workspace(void)
{
	return (struct launcher_plan){ .cwd = top };
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void append_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "ae");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static bool exists(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static bool lists(const struct protect *p, const char *name)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", top, name);

	for (size_t i = 0; i < p->npaths; i++)
		if (strcmp(p->paths[i], path) == 0)
			return true;
	return false;
}

static void prepare(struct protect *p)
{
	struct launcher_plan plan = workspace();
	struct error err;

	if (protect_prepare(&plan, NULL, p, &err))
		fail_msg("%s", err.msg);
}

static void finish(struct protect *p)
{
	placeholders_remove(&p->held);
	protect_clear(p);
}

static void test_absent_names_are_held_and_let_go(void **state)
{
	struct protect p;
	struct stat st;

	(void)state;
	prepare(&p);
	assert_true(lists(&p, ".claude") && lists(&p, ".mcp.json"));
	assert_false(lists(&p, ".bashrc")); /* obeyed at home only */
	assert_int_equal(lstat(".mcp.json", &st), 0);
	assert_true(S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0555);
	assert_false(exists(".git")); /* git init must work */
	finish(&p);
	assert_false(exists(".mcp.json"));
}

/* Mercurial's configuration has hooks in it; there is nothing to lock where nobody uses it. */
static void test_mercurial_is_locked_where_it_is(void **state)
{
	struct protect p;

	(void)state;
	prepare(&p);
	assert_false(lists(&p, ".hg/hgrc") || exists(".hg"));
	finish(&p);
	assert_int_equal(mkdir(".hg", 0700), 0);
	prepare(&p);
	assert_true(lists(&p, ".hg/hgrc") && exists(".hg/hgrc"));
	assert_true(lists(&p, ".hg/requires") && lists(&p, ".hg/hgrc-not-shared"));
	finish(&p);
	assert_false(exists(".hg/hgrc"));
	assert_int_equal(rmdir(".hg"), 0);
}

static void test_other_systems_are_locked_where_they_are(void **state)
{
	static const char *const names[] = { ".git/lazygit.yml",     ".git/glab-cli",
					     ".git/gitweb",	     ".git/sl/config",
					     ".jj/repo/config.toml", ".jj/workspace-config.toml",
					     ".sl/config",	     "_darcs/prefs/defaults",
					     ".pijul/config" };
	struct protect p;

	(void)state;
	prepare(&p);
	assert_false(exists(".jj") || exists("_darcs"));
	finish(&p);
	assert_int_equal(system("mkdir -p .git/sl .jj/repo .sl _darcs/prefs .pijul"),
			 0); // NOLINT(cert-env33-c)
	prepare(&p);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(lists(&p, names[i]) && exists(names[i]));
	finish(&p);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_false(exists(names[i]));
	/* a second workspace: a file says where the repository is */
	assert_int_equal(system("rm -r .jj/repo; echo ../a > .jj/repo"), 0); // NOLINT(cert-env33-c)
	prepare(&p);
	assert_true(lists(&p, ".jj/repo"));
	finish(&p);
	assert_int_equal(system("rm -r .git .jj .sl _darcs .pijul"), 0); // NOLINT(cert-env33-c)
}

/* How many names an empty directory is left with. */
static size_t entries(void)
{
	DIR *d = opendir(".");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n - 2;
}

/* `git clone URL .` must work: what comes there is the command's own. */
static void test_an_empty_root_stays_empty(void **state)
{
	struct protect p;

	(void)state;
	assert_int_equal(unlink("README"), 0);
	prepare(&p);
	assert_int_equal(entries(), 0);
	finish(&p);
	write_file("README", "");
	prepare(&p); /* the control */
	assert_true(entries() > 1);
	finish(&p);
}

/* Shell start-up files at home, and our own directories, even where home is an empty directory. */
static void test_home_is_held_where_it_is_writable(void **state)
{
	CLEANUP_FREE char *was = getenv("HOME") ? xstrdup(getenv("HOME")) : NULL;
	struct launcher_plan plan = workspace();
	struct protect p;
	struct error err;

	(void)state;
	assert_int_equal(setenv("HOME", top, 1) | unlink("README"), 0);
	prepare(&p);
	assert_true(lists(&p, ".bashrc") && lists(&p, ".config/sbx-net") &&
		    lists(&p, ".local/state/sbx-net"));
	finish(&p);
	assert_int_equal(entries(), 0);
	plan.fs = FS_STRICT; /* nothing is writable: nothing is held */
	assert_int_equal(protect_prepare(&plan, NULL, &p, &err), 0);
	assert_int_equal(entries(), 0);
	finish(&p);
	write_file("README", "");
	assert_int_equal(was ? setenv("HOME", was, 1) : unsetenv("HOME"), 0);
}

/* Nobody was left to tidy up: the next run does, and nobody's own directories are taken for ours. */
static void test_what_a_killed_run_left_is_removed_by_the_next(void **state)
{
	struct protect p;
	struct stat st;

	(void)state;
	prepare(&p);
	protect_clear(&p); /* as if killed */
	assert_true(exists(".claude"));
	assert_int_equal(rmdir(".idea") | mkdir(".idea", 0555), 0); /* somebody's own */
	prepare(&p);
	assert_true(lists(&p, ".claude"));
	finish(&p);
	assert_false(exists(".claude"));
	assert_int_equal(lstat(".idea", &st), 0);
	assert_int_equal(rmdir(".idea"), 0);
	/* in a directory that is empty otherwise it does so at once */
	prepare(&p);
	protect_clear(&p);
	assert_int_equal(unlink("README"), 0);
	prepare(&p);
	assert_int_equal(entries(), 0);
	finish(&p);
	write_file("README", "");
}

static int protect_own_path(const char *path, struct protect *p, struct error *err)
{
	const char *const paths[] = { path };
	struct launcher_plan plan = workspace();

	plan.private_paths = (struct path_list){ .v = paths, .n = 1 };
	return protect_prepare(&plan, NULL, p, err);
}

/* A file of ours by way of links: each link, and what it leads to; or nothing starts. */
static void test_files_of_ours_are_followed(void **state)
{
	CLEANUP_FREE char *file = xasprintf("%s/d/link", top);
	CLEANUP_FREE char *absent = xasprintf("%s/no/such/file", top);
	struct protect p;
	struct error err;

	(void)state;
	assert_int_equal(mkdir("e", 0755) | symlink("e", "d") | symlink("../policy", "e/link"), 0);
	write_file("policy", "x");
	assert_int_equal(protect_own_path(file, &p, &err), 0);
	assert_true(lists(&p, "d") && lists(&p, "e/link") && lists(&p, "policy"));
	finish(&p);
	assert_int_equal(link("policy", "policy2"), 0);
	assert_int_equal(protect_own_path(file, &p, &err), -1);
	assert_non_null(strstr(err.msg, file));
	assert_int_equal(unlink("policy2") | unlink("policy"), 0);
	/* missing: its name is held, or the directory that it would be in */
	assert_int_equal(protect_own_path(file, &p, &err), 0);
	assert_true(exists("policy") && lists(&p, "policy"));
	finish(&p);
	assert_false(exists("policy"));
	assert_int_equal(protect_own_path(absent, &p, &err), 0);
	assert_true(exists("no/such") && lists(&p, "no/such"));
	finish(&p);
	assert_false(exists("no"));
	assert_int_equal(unlink("e/link") | unlink("d") | rmdir("e"), 0);
}

static void test_inside_git_absent_names_are_what_git_ignores(void **state)
{
	struct protect p;

	(void)state;
	assert_int_equal(mkdir(".git", 0755), 0);
	write_file(".git/config", "[core]\n");
	prepare(&p);
	assert_true(lists(&p, ".git/config") && lists(&p, ".git/hooks") &&
		    lists(&p, ".git/commondir"));
	assert_true(exists(".git/commondir") && exists(".git/config.worktree"));
	finish(&p);
	assert_false(exists(".git/commondir") || exists(".git/hooks") ||
		     exists(".git/config.worktree"));
	assert_true(exists(".git/config"));
	assert_int_equal(unlink(".git/config") | rmdir(".git"), 0);
}

/* git outside must not replace what is locked inside: that would take the lock away. */
static void test_git_outside_finds_its_configuration_locked(void **state)
{
	struct protect p;

	(void)state;
	assert_int_equal(system("git init -q . && git config a.b c"), 0);
	prepare(&p);
	assert_int_not_equal(system("git config a.b d 2> /dev/null"), 0);
	assert_int_equal(system("git status > /dev/null && git config a.b > /dev/null"), 0);
	finish(&p);
	assert_int_equal(system("git config a.b d && rm -rf .git"), 0);
}

static void test_what_has_become_data_stays(void **state)
{
	struct protect p;

	(void)state;
	prepare(&p);
	/* somebody outside replaces a placeholder while the run lasts */
	assert_int_equal(rmdir(".mcp.json"), 0);
	write_file(".mcp.json", "{}");
	finish(&p);
	assert_true(exists(".mcp.json"));
	assert_false(exists(".claude"));
	assert_int_equal(unlink(".mcp.json"), 0);
}

static void test_existing_names_are_locked_as_they_are(void **state)
{
	struct protect p;
	struct stat st;

	(void)state;
	assert_int_equal(mkdir(".claude", 0700), 0);
	assert_int_equal(mkdir("real", 0700), 0);
	assert_int_equal(symlink("real", ".vscode"), 0);
	prepare(&p);
	assert_true(lists(&p, ".claude") && lists(&p, ".vscode") && lists(&p, "real"));
	finish(&p);
	assert_int_equal(stat(".claude", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(rmdir(".claude") | unlink(".vscode") | rmdir("real"), 0);
}

static void test_a_dangling_link_stops_the_start(void **state)
{
	struct launcher_plan plan = workspace();
	struct protect p = { 0 };
	struct error err;

	(void)state;
	assert_int_equal(symlink("nowhere", ".claude"), 0);
	assert_int_equal(protect_prepare(&plan, NULL, &p, &err), -1);
	assert_non_null(strstr(err.msg, ".claude"));
	assert_false(exists(".sbx-net")); /* and nothing stays behind */
	assert_int_equal(unlink(".claude"), 0);
}

/* The first run to end leaves what the second one needs; the last one tidies up. */
static void test_two_runs_share_placeholders(void **state)
{
	struct protect a, b;

	(void)state;
	prepare(&a);
	prepare(&b);
	finish(&a);
	assert_true(exists(".mcp.json"));
	finish(&b);
	assert_false(exists(".mcp.json"));
}

static void test_denied_paths_come_last_and_may_be_missing(void **state)
{
	CLEANUP_FREE char *path = xasprintf("%s/a/b/c", top);
	const char *const denied[] = { path };
	struct launcher_plan plan = workspace();
	struct protect p;
	struct error err;

	(void)state;
	plan.deny_write = (struct path_list){ .v = denied, .n = 1 };
	assert_int_equal(protect_prepare(&plan, NULL, &p, &err), 0);
	assert_true(lists(&p, "a/b")); /* the lowest directory that is missing */
	finish(&p);
	assert_false(exists("a"));
}

/* Names with slashes, submodules of submodules, and the working trees that lead there. */
static void test_git_directories_of_submodules(void **state)
{
	struct protect p;

	(void)state;
	assert_int_equal(
		system("mkdir -p .git/modules/a/b/modules/c .git/worktrees/w lib/b tree && "
		       "printf '[core]\\nworktree = ../../../../lib/b\\n' > "
		       ".git/modules/a/b/config && "
		       "echo x > .git/modules/a/b/HEAD && echo x > .git/modules/a/b/modules/c/HEAD "
		       "&& "
		       "echo 'gitdir: ../../.git/modules/a/b' > lib/b/.git && "
		       "echo ../.. > .git/worktrees/w/commondir && echo x > tree/.git && "
		       "echo $PWD/tree/.git > .git/worktrees/w/gitdir"),
		0);
	prepare(&p);
	assert_true(lists(&p, ".git/modules/a/b/config") && lists(&p, ".git/modules/a/b/hooks"));
	assert_true(exists(".git/modules/a/b/commondir") && exists(".git/modules/a/b/hooks"));
	assert_true(lists(&p, ".git/modules/a/b/modules/c/commondir"));
	assert_true(lists(&p, "lib/b/.git") && lists(&p, "tree/.git"));
	assert_true(lists(&p, ".git/worktrees/w/commondir") &&
		    lists(&p, ".git/worktrees/w/config.worktree"));
	assert_false(exists(".git/worktrees/w/hooks")); /* the main one's are obeyed */
	finish(&p);
	assert_false(exists(".git/modules/a/b/commondir") || exists(".git/modules/a/b/hooks"));
	assert_int_equal(system("rm -r .git lib tree"), 0);
}

static void test_what_configuration_leads_to(void **state)
{
	struct protect p;

	(void)state;
	assert_int_equal(
		system("git init -q . && mkdir -p husky/_ s && echo x > s/clean && "
		       "echo x > s/post && echo x > s/other && "
		       "printf '[core]\\nhooksPath = husky/_\\n[filter \"x\"]\\n"
		       "clean = sh ./s/clean ./s\\n[include]\\npath = ../inc\\n"
		       "[include]\\npath = ../missing\\n[alias]\\nx = !pwd ./\\n' "
		       ">> .git/config && "
		       "printf '[core]\\nfsmonitor = s/../s/mon\\n' > inc && echo x > s/mon && "
		       "ln -s ../../s/post .git/hooks/post-commit"),
		0);
	prepare(&p);
	assert_true(lists(&p, "husky/_") && lists(&p, "husky") && lists(&p, "inc"));
	assert_true(lists(&p, "s/clean") && lists(&p, "s/post") && lists(&p, "s/mon"));
	assert_true(lists(&p, "missing"));
	assert_int_equal(system("git config --get core.fsmonitor > /dev/null"), 0);
	assert_false(lists(&p, "s") || lists(&p, "s/other") || lists(&p, "."));
	finish(&p);
	assert_false(exists("missing"));
	assert_int_equal(system("rm -r .git husky s inc"), 0);
}

/* "hooksPath = own" is another directory in each working tree. */
static void test_relative_names_are_each_trees_own(void **state)
{
	struct protect p;

	(void)state;
	assert_int_equal(
		system("git init -q . && mkdir -p .git/modules/m .git/worktrees/w sub tree && "
		       "echo x > .git/modules/m/HEAD && echo x > sub/.git && "
		       "echo x > tree/.git && echo x > sub/mon && "
		       "printf '[core]\nworktree = ../../../sub\nhooksPath = own\n"
		       "fsmonitor = ./mon\n' > .git/modules/m/config && "
		       "printf '[core]\nhooksPath = main\n' >> .git/config && "
		       "echo ../.. > .git/worktrees/w/commondir && "
		       "echo $PWD/tree/.git > .git/worktrees/w/gitdir"),
		0);
	prepare(&p);
	assert_true(lists(&p, "main") && lists(&p, "sub/own") && lists(&p, "sub/mon"));
	assert_true(lists(&p, "tree/main"));
	finish(&p);
	assert_false(exists("sub/own") || exists("tree/main"));
	assert_int_equal(system("rm -r .git sub tree"), 0);
}

/* Programs by variables that few have heard of, links among hooks, submodules of a linked tree. */
static void test_what_little_known_variables_lead_to(void **state)
{
	struct protect p;

	(void)state;
	assert_int_equal(
		system("git init -q . && mkdir -p own s .git/worktrees/w/modules/m && "
		       "echo x > s/a && echo x > s/b && echo x > s/hook && echo x > c.sh && "
		       "echo x > status && ln -s ../s/hook own/post-commit && "
		       "echo x > .git/worktrees/w/modules/m/HEAD && "
		       "printf '[core]\nhooksPath = own\nalternateRefsCommand = ./s/a\n"
		       "[gc]\nrecentObjectsHook = ./s/b\n[filter \"x\"]\n"
		       "clean = sh c.sh\n[alias]\nst = -p status\n' >> .git/config"),
		0);
	prepare(&p);
	assert_true(lists(&p, "s/a") && lists(&p, "s/b") && lists(&p, "s/hook"));
	assert_true(lists(&p, "c.sh") && lists(&p, ".git/worktrees/w/modules/m/hooks"));
	assert_false(lists(&p, "status") || lists(&p, "s"));
	finish(&p);
	assert_int_equal(system("rm -r .git own s c.sh status"), 0);
}

/* As a shell takes it apart. */
static void test_what_command_lines_lead_to(void **state)
{
	static const char *const values[] = {
		"./s/x;false",
		"A=1 ./s/x&",
		"true|./s/x",
		"A=./s/x sh -c :",
		"$(git rev-parse --show-toplevel)/s/x",
		"\\\"$(git rev-parse --show-toplevel)\\\"/s/x",
		"`pwd`/s/x",
		"$PWD/s/x",
		"${PWD}/s/x",
		"test -f $PWD/s/x",
		"(s/x)",
		"sh<s/x",
		"\\\"s/x\\\" a",
	};
	struct protect p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		assert_int_equal(
			system("git init -q . && mkdir s && echo x > s/x && echo x > s/y && "
			       "echo x > 's/x y'"),
			0);
		write_file(".git/config", "[core]\nfsmonitor = ");
		append_file(".git/config", values[i]);
		prepare(&p);
		if (!lists(&p, "s/x"))
			fail_msg("not locked: %s", values[i]);
		assert_false(lists(&p, "s/y") || lists(&p, "s"));
		finish(&p);
		assert_int_equal(system("rm -r .git s"), 0);
	}
	assert_int_equal(system("git init -q . && mkdir s && echo x > 's/x y' && "
				"git config core.fsmonitor '\"s/x y\" z'"),
			 0);
	prepare(&p);
	assert_true(lists(&p, "s/x y"));
	finish(&p);
	assert_int_equal(system("rm -r .git s"), 0);
}

/* A repository around the working tree, which is not the command's to write. */
static void test_what_the_repository_around_leads_to(void **state)
{
	struct launcher_plan plan = workspace();
	CLEANUP_FREE char *app = xasprintf("%s/app", top);
	struct protect p;
	struct error err;

	(void)state;
	assert_int_equal(system("git init -q . && mkdir -p app/sub app/s && echo x > app/s/hook && "
				"echo x > app/s/clean && echo x > app/s/other && "
				"ln -s ../../app/s/hook .git/hooks/post-commit && "
				"git config core.hooksPath app/.husky && "
				"git config filter.x.clean app/s/clean"),
			 0);
	for (int i = 0; i < 2; i++) { /* with and without one of its own */
		plan.cwd = app;
		if (protect_prepare(&plan, NULL, &p, &err))
			fail_msg("%s", err.msg);
		assert_true(lists(&p, "app/.husky") && lists(&p, "app/s/hook") &&
			    lists(&p, "app/s/clean"));
		assert_false(lists(&p, "app/s/other") || lists(&p, ".git/config"));
		finish(&p);
		assert_false(exists("app/.husky"));
		assert_int_equal(system("git init -q app"), 0);
	}
	assert_int_equal(system("rm -r .git app"), 0);
}

/* Too large for us, but not for git. */
static void test_configuration_that_cannot_be_read_stops_the_start(void **state)
{
	struct launcher_plan plan = workspace();
	struct protect p;
	struct error err;

	(void)state;
	assert_int_equal(
		system("git init -q . && printf '[include]\npath = ../big\n' >> .git/config "
		       "&& head -c 2000000 /dev/zero | tr '\\0' '#' > big"),
		0);
	assert_int_equal(protect_prepare(&plan, NULL, &p, &err), -1);
	assert_non_null(strstr(err.msg, "big"));
	assert_false(exists(".mcp.json"));
	assert_int_equal(system("printf '[a_b]\n[core]\nhooksPath = x\n' > big"), 0);
	assert_int_equal(protect_prepare(&plan, NULL, &p, &err), -1);
	assert_non_null(strstr(err.msg, "big has a line that is no configuration"));
	assert_int_equal(system("echo > big"), 0);
	prepare(&p);
	finish(&p);
	assert_int_equal(system("rm -r .git big"), 0);
}

/* The command could make what is missing a link, and have the ".." lead elsewhere. */
static void test_a_way_back_from_what_is_missing_stops_the_start(void **state)
{
	struct launcher_plan plan = workspace();
	struct protect p;
	struct error err;

	(void)state;
	assert_int_equal(
		system("git init -q . && mkdir hk && git config core.hooksPath ./no/../hk"), 0);
	assert_int_equal(protect_prepare(&plan, NULL, &p, &err), -1);
	assert_non_null(strstr(err.msg, "what git here obeys: "));
	assert_non_null(strstr(err.msg, "no/../hk: what its \"..\" goes back from is missing"));
	assert_int_equal(mkdir("no", 0700), 0);
	prepare(&p);
	assert_true(lists(&p, "hk"));
	finish(&p);
	assert_int_equal(system("rm -r .git hk no"), 0);
}

/* "gitdir: ./bare" in the working tree, with linked ones beside it, and a .git that is a link. */
static void test_git_directories_by_other_names(void **state)
{
	struct protect p;

	(void)state;
	assert_int_equal(system("git init -q --bare bare && echo 'gitdir: ./bare' > .git && "
				"mkdir -p bare/modules/m bare/worktrees/w tree/sub && "
				"echo x > bare/modules/m/HEAD && echo x > tree/.git && "
				"echo ../.. > bare/worktrees/w/commondir && "
				"echo $PWD/tree/.git > bare/worktrees/w/gitdir"),
			 0);
	prepare(&p);
	assert_true(lists(&p, ".git") && lists(&p, "bare/config") && lists(&p, "bare/hooks"));
	assert_true(lists(&p, "bare/commondir") && lists(&p, "bare/modules/m/hooks"));
	assert_true(lists(&p, "tree/.git") && lists(&p, "bare/worktrees/w/commondir"));
	finish(&p);
	assert_false(exists("bare/commondir") || exists("bare/modules/m/hooks"));
	assert_int_equal(system("echo \"gitdir: $PWD/bare/worktrees/w\" > .git"), 0);
	prepare(&p);
	assert_true(lists(&p, "bare/config") && lists(&p, "bare/hooks"));
	assert_true(lists(&p, "bare/worktrees/w/config.worktree"));
	finish(&p);
	assert_int_equal(system("echo 'gitdir: gone/git' > .git"), 0);
	prepare(&p);
	assert_true(lists(&p, "gone/git") || lists(&p, "gone"));
	finish(&p);
	assert_false(exists("gone"));
	assert_int_equal(system("rm .git && ln -s bare .git"), 0);
	prepare(&p);
	assert_true(lists(&p, "bare/hooks") && lists(&p, "bare/modules/m/hooks"));
	finish(&p);
	assert_int_equal(system("rm -r .git bare tree"), 0);
}

/* A file where the way to a hook would be. */
static void test_what_cannot_be_told_is_locked_whole(void **state)
{
	CLEANUP_FREE char *path = xasprintf("%s/way/x/y", top);
	const char *const denied[] = { path };
	struct launcher_plan plan = workspace();
	struct protect p;
	struct error err;

	(void)state;
	plan.deny_write = (struct path_list){ .v = denied, .n = 1 };
	assert_int_equal(system("git init -q . && mkdir -p .git/modules/a && echo x > way && "
				"echo x > file && echo x > .git/modules/a/HEAD && "
				"printf '[core]\nhooksPath = file/hooks\n' >> .git/config"),
			 0);
	assert_int_equal(protect_prepare(&plan, NULL, &p, &err), 0);
	assert_true(lists(&p, "file") && lists(&p, "way"));
	assert_false(lists(&p, ".git/modules") || lists(&p, ".git/worktrees"));
	finish(&p);
	assert_int_equal(system("rm -r .git way file"), 0);
}

/* A crowd, or a depth, in which the real ones would not be found: what they lead to could not be locked. */
static void test_a_crowd_stops_the_start(void **state)
{
	static const char *const crowds[] = {
		"seq 17000 | xargs mkdir",
		"for i in $(seq 70); do mkdir d; cd d; done",
		"seq -f m%g 4200 | xargs mkdir && for i in m*; do : > $i/HEAD; done",
	};
	struct launcher_plan plan = workspace();
	struct protect p;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(crowds); i++) {
		CLEANUP_FREE char *make = xasprintf(
			"git init -q . && mkdir -p .git/modules/b && cd .git/modules/b && %s",
			crowds[i]);

		assert_int_equal(system(make), 0);
		assert_int_equal(protect_prepare(&plan, NULL, &p, &err), -1);
		assert_non_null(strstr(err.msg, "too many repositories or directories"));
		assert_non_null(strstr(err.msg, "/.git/modules/b"));
		assert_false(exists(".mcp.json"));
		assert_int_equal(system("rm -r .git"), 0);
	}
	/* not these, and one with a name in many parts is found */
	assert_int_equal(
		system("git init -q . && mkdir -p .git/modules/b/1/2/3/4/5/6/7/8/9/10/11/12/13 && "
		       "cd .git/modules/b && seq 5000 6000 | xargs mkdir && "
		       "echo x > 1/2/3/4/5/6/7/8/9/10/11/12/13/HEAD"),
		0);
	prepare(&p);
	assert_true(lists(&p, ".git/modules/b/1/2/3/4/5/6/7/8/9/10/11/12/13/hooks"));
	finish(&p);
	assert_int_equal(system("rm -r .git"), 0);
}

/* Nothing is made where a link leads that an earlier run has left. */
static void test_links_out_of_the_root_are_not_followed(void **state)
{
	CLEANUP_FREE char *away = xasprintf("%s-away", top);
	CLEANUP_FREE char *command =
		xasprintf("mkdir -p %s/git && ln -s %s/git .git && mkdir real", away, away);
	CLEANUP_FREE char *empty = xasprintf("rmdir %s/git %s", away, away);
	struct protect p;

	(void)state;
	assert_int_equal(system(command), 0);
	prepare(&p);
	assert_true(lists(&p, ".git"));
	assert_int_equal(system(empty), 0); /* nothing was made in it */
	finish(&p);
	/* one that stays inside is a repository like any other */
	assert_int_equal(unlink(".git") | symlink("real", ".git"), 0);
	prepare(&p);
	assert_true(lists(&p, ".git") && exists("real/commondir") && lists(&p, "real/commondir"));
	finish(&p);
	assert_false(exists("real/commondir"));
	assert_int_equal(unlink(".git") | rmdir("real"), 0);
}

static void test_a_hard_link_stops_the_start(void **state)
{
	struct launcher_plan plan = workspace();
	struct protect p;
	struct error err;

	(void)state;
	write_file(".envrc", "x");
	assert_int_equal(link(".envrc", "other"), 0);
	assert_int_equal(protect_prepare(&plan, NULL, &p, &err), -1);
	assert_non_null(strstr(err.msg, ".envrc has another name"));
	assert_false(exists(".claude")); /* nor does anything stay */
	assert_int_equal(unlink("other"), 0);
	prepare(&p);
	finish(&p);
	assert_int_equal(unlink(".envrc"), 0);
}

/* A start that is refused for @name's second name, and none when it is gone. */
static void check_second_name(const char *name, const char *deny)
{
	struct launcher_plan plan = workspace();
	struct protect p;
	struct error err;

	plan.deny_write = (struct path_list){ .v = &deny, .n = deny ? 1 : 0 };
	assert_int_equal(link(name, "other"), 0);
	assert_int_equal(protect_prepare(&plan, NULL, &p, &err), -1);
	assert_non_null(strstr(err.msg, deny ? deny : name));
	assert_non_null(strstr(err.msg, "another name (a hard link)"));
	assert_int_equal(unlink("other"), 0);
	assert_int_equal(protect_prepare(&plan, NULL, &p, &err), 0);
	finish(&p);
}

static void test_a_hard_link_below_what_is_locked_stops_the_start(void **state)
{
	CLEANUP_FREE char *denied = xasprintf("%s/denied", top);
	struct protect p;

	(void)state;
	assert_int_equal(
		system("mkdir -p .git/hooks .githooks .vscode .claude/a/b && echo x > .git/hooks/x "
		       "&& cp .git/hooks/x .git/hooks/x.sample && echo x > .vscode/tasks.json && "
		       "echo x > .claude/a/b/c && echo x > .githooks/y && echo x > denied && echo "
		       "x > inc"),
		0);
	write_file(".git/config", "[core]\nhooksPath = .githooks\n[include]\npath = ../inc\n");
	check_second_name(".git/hooks/x", NULL);
	check_second_name(".vscode/tasks.json", NULL);
	check_second_name(".claude/a/b/c", NULL);
	check_second_name(".githooks/y", NULL);
	check_second_name("inc", NULL);
	check_second_name("denied", denied);
	assert_int_equal(link(".git/hooks/x.sample", "other"), 0);
	prepare(&p);
	finish(&p);
	assert_int_equal(system("rm -r .git .githooks .vscode .claude denied inc other"), 0);
}

static int enter_top(void **state)
{
	static char dir[] = "/tmp/sbx-net-protect-XXXXXX";

	(void)state;
	if (!mkdtemp(dir) || !realpath(dir, top) || chdir(top) < 0)
		return -1;
	write_file("README", ""); /* an empty directory would get no placeholders */
	return 0;
}

static int leave_top(void **state)
{
	(void)state;
	return unlink("README") < 0 || chdir("/") < 0 || rmdir(top) < 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absent_names_are_held_and_let_go),
		cmocka_unit_test(test_other_systems_are_locked_where_they_are),
		cmocka_unit_test(test_mercurial_is_locked_where_it_is),
		cmocka_unit_test(test_an_empty_root_stays_empty),
		cmocka_unit_test(test_home_is_held_where_it_is_writable),
		cmocka_unit_test(test_what_a_killed_run_left_is_removed_by_the_next),
		cmocka_unit_test(test_files_of_ours_are_followed),
		cmocka_unit_test(test_inside_git_absent_names_are_what_git_ignores),
		cmocka_unit_test(test_git_outside_finds_its_configuration_locked),
		cmocka_unit_test(test_what_has_become_data_stays),
		cmocka_unit_test(test_existing_names_are_locked_as_they_are),
		cmocka_unit_test(test_a_dangling_link_stops_the_start),
		cmocka_unit_test(test_two_runs_share_placeholders),
		cmocka_unit_test(test_denied_paths_come_last_and_may_be_missing),
		cmocka_unit_test(test_git_directories_of_submodules),
		cmocka_unit_test(test_what_configuration_leads_to),
		cmocka_unit_test(test_what_little_known_variables_lead_to),
		cmocka_unit_test(test_configuration_that_cannot_be_read_stops_the_start),
		cmocka_unit_test(test_a_way_back_from_what_is_missing_stops_the_start),
		cmocka_unit_test(test_what_command_lines_lead_to),
		cmocka_unit_test(test_what_the_repository_around_leads_to),
		cmocka_unit_test(test_git_directories_by_other_names),
		cmocka_unit_test(test_relative_names_are_each_trees_own),
		cmocka_unit_test(test_what_cannot_be_told_is_locked_whole),
		cmocka_unit_test(test_a_crowd_stops_the_start),
		cmocka_unit_test(test_links_out_of_the_root_are_not_followed),
		cmocka_unit_test(test_a_hard_link_stops_the_start),
		cmocka_unit_test(test_a_hard_link_below_what_is_locked_stops_the_start),
	};

	return cmocka_run_group_tests(tests, enter_top, leave_top);
}

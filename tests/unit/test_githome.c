#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "launcher/files/githome.h"

static char top[64];

/* A repository "r" with a linked tree "l", a submodule "r/s", and files that lead there unasked. */
static int set_up(void **state)
{
	CLEANUP_FREE char *script = NULL;

	(void)state;
	(void)snprintf(top, sizeof(top), "/var/tmp/sbx-githome.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	script = xasprintf(
		"cd %s && mkdir -p r/.git/objects r/.git/refs r/.git/worktrees/l r/a/b l "
		"r/.git/modules/s/objects r/.git/modules/s/refs r/s empty/.git fake none && "
		"touch r/.git/HEAD r/.git/modules/s/HEAD && "
		"echo 'gitdir: ../r/.git/worktrees/l' > l/.git && "
		"echo ../.. > r/.git/worktrees/l/commondir && "
		"echo $PWD/l/.git > r/.git/worktrees/l/gitdir && "
		"echo 'gitdir: ../.git/modules/s' > r/s/.git && "
		"echo 'gitdir: ../r/.git/worktrees/l' > fake/.git && "
		"mkfifo none/.git",
		top);
	return system(script) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	CLEANUP_FREE char *script = xasprintf("rm -r %s", top);

	(void)state;
	return system(script);
}

static void test_each_kind_of_tree(void **state)
{
	static const struct row {
		const char *dir, *git, *tree;
	} rows[] = {
		{ "r", "r/.git", "r" },
		{ "r/a/b", "r/.git", "r" },
		{ "l", "r/.git", NULL },
		{ "r/s", "r/.git/modules/s", NULL },
		/* what a command could have made */
		{ "fake", NULL, NULL },
		{ "empty", NULL, NULL },
		{ "none", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *dir = xasprintf("%s/%s", top, rows[i].dir);
		CLEANUP_FREE char *git = xasprintf("%s/%s", top, rows[i].git ? rows[i].git : "");
		CLEANUP_FREE char *tree = xasprintf("%s/%s", top, rows[i].tree ? rows[i].tree : "");
		struct githome g = { 0 };

		assert_int_equal(githome_find(dir, &g), rows[i].git != NULL);
		if (rows[i].git)
			assert_string_equal(g.git, git);
		if (rows[i].tree)
			assert_string_equal(g.tree, tree);
		else
			assert_null(g.tree);
		githome_clear(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind_of_tree),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

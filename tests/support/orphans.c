/*
 * orphans SLEEPERS SECONDS - keep the reaper of a PID namespace busy
 *
 * SLEEPERS processes that do not end make each of its looks for one that has ended take long; for
 * SECONDS others end as fast as they can be made. All of them are its children: by CLONE_PARENT, which
 * takes one call each, where the caller is its child and may do that, or else by parents that end. The
 * file "streaming" in the current directory says that it has begun. Ignores what asks it to end.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK	  8192
#define AT_A_TIME 20
#define SHARED	  (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND)

static char stacks[2][65536] __attribute__((aligned(16)));

static int sleeper(void *arg)
{
	(void)arg;
	for (;;)
		(void)pause();
	return 0;
}

static int quick(void *arg)
{
	(void)arg;
	_exit(0);
}

/* Leaves what it has made to the reaper. */
static int parent(void *arg)
{
	(void)arg;
	for (int i = 0; i < AT_A_TIME; i++)
		(void)clone(quick, stacks[1] + sizeof(stacks[1]), CLONE_VM | CLONE_VFORK | SIGCHLD,
			    NULL);
	_exit(0);
}

static void make_sleepers(size_t n, int flag)
{
	char *all = mmap(NULL, (n + 1) * STACK, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (all == MAP_FAILED)
		exit(1);
	for (size_t i = 1; i <= n; i++)
		if (clone(sleeper, all + i * STACK, SHARED | flag | SIGCHLD, NULL) < 0)
			return;
}

static void leave_sleepers(size_t n)
{
	pid_t pid = fork();

	if (pid == 0) {
		make_sleepers(n, 0);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

static void stream(bool direct)
{
	pid_t pid = clone(direct ? quick : parent, stacks[0] + sizeof(stacks[0]),
			  CLONE_VM | CLONE_VFORK | (direct ? CLONE_PARENT : 0) | SIGCHLD, NULL);

	if (pid < 0)
		(void)usleep(100);
	else if (!direct)
		(void)waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	time_t end = time(NULL) + (argc > 2 ? strtol(argv[2], NULL, 10) : 0);
	bool direct =
		getppid() == 1 && clone(quick, stacks[0] + sizeof(stacks[0]),
					CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD, NULL) > 0;

	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (direct)
		make_sleepers(n, CLONE_PARENT);
	else
		leave_sleepers(n);
	for (bool told = false; time(NULL) < end; told = true) {
		for (int i = 0; i < 100; i++)
			stream(direct);
		if (!told)
			(void)!creat("streaming", 0600);
	}
	return 0;
}

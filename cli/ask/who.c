/*
 * Theory of operation: the table of sockets of pid 1's network namespace gives the inode of the
 * socket whose own end is the client's; then the descriptors of every process below pid 1 are
 * looked through for that inode. Processes may come and go meanwhile; whatever is gone is skipped.
 */
#include "cli/ask/who.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/procstat.h"
#include "base/reader.h"
#include "base/xalloc.h"

#define PROCESSES_MAX 65536
#define SOCKETS_MAX   65536 /* lines of /proc/PID/net/tcp */
#define FDS_MAX	      8192  /* of one process */
#define DEPTH_MAX     64
#define SHOWN_MAX     8	 /* names in a chain */
#define SCRIPT_WORDS  4	 /* the interpreter, what a "#!" has as its argument, the script */
#define COMM_LEN      15 /* TASK_COMM_LEN - 1 */

struct process {
	pid_t pid, parent;
};

struct processes {
	struct process *v;
	size_t n;
};

/* ---- the socket */

/* Host-endian words in hexadecimal, as the kernel prints them. */
static bool parse_addr(const char *hex, struct addr *out)
{
	size_t words = strlen(hex) / 8;
	struct addr a = { .family = words == 1 ? AF_INET : AF_INET6 };

	if ((words != 1 && words != 4) || strlen(hex) % 8)
		return false;
	for (size_t i = 0; i < words; i++) {
		unsigned word;

		if (sscanf(hex + 8 * i, "%8x", &word) != 1)
			return false;
		memcpy(a.bytes + 4 * i, &word, sizeof(word));
	}
	*out = a;
	return true;
}

static bool is_wildcard(const struct addr *a)
{
	static const uint8_t zero[sizeof(a->bytes)];

	return memcmp(a->bytes, zero, sizeof(zero)) == 0;
}

/* An IPv4 socket may look like an IPv6 one from the other side. */
static bool same_addr(const struct addr *a, const struct addr *b)
{
	const struct addr_set set = { .v = (struct addr *)(uintptr_t)a, .n = 1 };
	const struct addr_set other = { .v = (struct addr *)(uintptr_t)b, .n = 1 };

	return addr_set_contains(&set, b) || addr_set_contains(&other, a);
}

/* A UDP socket has no address of its own unless it is connected; its port is its own alone. */
static bool line_matches(const char *line, const struct who_socket *want, unsigned long *inode)
{
	unsigned local_port, state;
	char local[40];
	struct addr a;

	if (sscanf(line, " %*u: %39[0-9A-F]:%x %*39[0-9A-F]:%*x %x %*s %*s %*s %*u %*u %lu", local,
		   &local_port, &state, inode) != 4)
		return false;
	return local_port == want->port && *inode != 0 && parse_addr(local, &a) &&
	       (same_addr(&a, &want->addr) || (want->udp && is_wildcard(&a)));
}

static unsigned long find_inode(pid_t init, const struct who_socket *want, const char *version)
{
	CLEANUP_FREE char *path =
		xasprintf("/proc/%d/net/%s%s", (int)init, want->udp ? "udp" : "tcp", version);
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");
	unsigned long inode;
	char line[512];

	for (size_t i = 0; f && i < SOCKETS_MAX && fgets(line, sizeof(line), f); i++)
		if (line_matches(line, want, &inode))
			return inode;
	return 0;
}

/* ---- the processes */

static bool read_small(pid_t pid, const char *name, char *out, size_t size, size_t *len)
{
	CLEANUP_FREE char *path = xasprintf("/proc/%d/%s", (int)pid, name);
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (n < 0)
		return false;
	out[n] = '\0';
	*len = (size_t)n;
	return true;
}

static void add_process(struct processes *all, pid_t pid, pid_t parent)
{
	if (all->n == PROCESSES_MAX)
		return;
	if (all->n % 256 == 0)
		all->v = xreallocarray(all->v, all->n + 256, sizeof(*all->v));
	all->v[all->n++] = (struct process){ .pid = pid, .parent = parent };
}

/* The children that one thread of @pid has. Return: whether the kernel tells. */
static bool add_children_of(struct processes *all, pid_t pid, const char *tid)
{
	CLEANUP_FREE char *path = xasprintf("/proc/%d/task/%s/children", (int)pid, tid);
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");
	int child;

	while (f && fscanf(f, "%d", &child) == 1)
		add_process(all, child, pid);
	return f;
}

static bool add_children(struct processes *all, pid_t pid)
{
	CLEANUP_FREE char *path = xasprintf("/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);
	const struct dirent *e;
	bool told = false;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			told |= add_children_of(all, pid, e->d_name);
	if (dir)
		(void)closedir(dir);
	return told;
}

/* Every process that there is, where the kernel does not tell of children (PROC_CHILDREN). */
static void add_everybody(struct processes *all)
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	uint64_t pid;

	while (dir && (e = readdir(dir)))
		if (reader_decimal(e->d_name, strlen(e->d_name), INT32_MAX, &pid))
			add_process(all, (pid_t)pid, procstat_parent((pid_t)pid));
	if (dir)
		(void)closedir(dir);
}

/* The processes below @init: on a busy machine few of all. */
static struct processes list_processes(pid_t init)
{
	struct processes all = { .n = 0 };

	if (!add_children(&all, init))
		add_everybody(&all);
	else
		for (size_t i = 0; i < all.n; i++)
			(void)add_children(&all, all.v[i].pid);
	return all;
}

static const struct process *find_process(const struct processes *all, pid_t pid)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].pid == pid)
			return &all->v[i];
	return NULL;
}

/* How far below @init; 0 if it is not below it. */
static unsigned depth(const struct processes *all, const struct process *p, pid_t init)
{
	for (unsigned n = 1; p && n < DEPTH_MAX; n++) {
		if (p->parent == init)
			return n;
		p = find_process(all, p->parent);
	}
	return 0;
}

static bool holds(pid_t pid, const char *link)
{
	CLEANUP_FREE char *path = xasprintf("/proc/%d/fd", (int)pid);
	DIR *dir = opendir(path);
	const struct dirent *e;
	bool found = false;

	for (size_t i = 0; dir && !found && i < FDS_MAX && (e = readdir(dir)); i++) {
		char to[64];
		ssize_t n = readlinkat(dirfd(dir), e->d_name, to, sizeof(to) - 1);

		to[n < 0 ? 0 : n] = '\0';
		found = strcmp(to, link) == 0;
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

/* The deepest process that has the socket: a parent may hold what it handed down. */
static const struct process *find_holder(const struct processes *all, pid_t init,
					 unsigned long inode)
{
	const struct process *best = NULL;
	unsigned deepest = 0;
	char link[64];

	(void)snprintf(link, sizeof(link), "socket:[%lu]", inode);
	for (size_t i = 0; i < all->n; i++) {
		unsigned d = depth(all, &all->v[i], init);

		if (d > deepest && holds(all->v[i].pid, link)) {
			best = &all->v[i];
			deepest = d;
		}
	}
	return best;
}

/* ---- how it is shown */

/* What a package manager says of the script that it runs: "postinstall of left-pad". */
static bool script_name(pid_t pid, char *out, size_t size)
{
	static char env[65536];
	const char *event = NULL, *package = NULL;
	size_t n;

	if (!read_small(pid, "environ", env, sizeof(env), &n))
		return false;
	for (size_t i = 0; i < n; i += strlen(env + i) + 1) {
		if (strncmp(env + i, "npm_lifecycle_event=", 20) == 0)
			event = env + i + 20;
		if (strncmp(env + i, "npm_package_name=", 17) == 0)
			package = env + i + 17;
	}
	if (!event || !package)
		return false;
	(void)snprintf(out, size, "%.40s of %.60s", event, package);
	return true;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/*
 * The script among the first words of (@words, @n), where an interpreter was started by its "#!": the
 * kernel has named the process after the script then (begin_new_exec()), in 15 bytes. NULL if none.
 */
static const char *script_among(const char *words, size_t n, pid_t pid)
{
	char comm[64];
	size_t len;

	if (!read_small(pid, "comm", comm, sizeof(comm), &len))
		return NULL;
	comm[strcspn(comm, "\n")] = '\0';
	len = strlen(comm);
	for (size_t i = strlen(words) + 1, k = 1; len && i < n && k < SCRIPT_WORDS;
	     i += strlen(words + i) + 1, k++) {
		const char *name = base_of(words + i);

		if (strncmp(name, comm, len) == 0 && (!name[len] || len == COMM_LEN))
			return name;
	}
	return NULL;
}

static void short_name(pid_t pid, char *out, size_t size)
{
	const char *script = NULL;
	char text[512];
	size_t n;

	if (read_small(pid, "cmdline", text, sizeof(text), &n) && text[0])
		script = script_among(text, n, pid);
	else
		(void)read_small(pid, "comm", text, sizeof(text), &n);
	text[strcspn(text, "\n")] = '\0';
	(void)snprintf(out, size, "%.60s", script ? script : base_of(text));
}

/* "make > npm > node > postinstall of left-pad", names that repeat once */
static void put_chain(const struct processes *all, const struct process *p, pid_t init,
		      char out[WHO_CHAIN_MAX])
{
	char name[SHOWN_MAX + 1][112] = { "" };
	char text[(SHOWN_MAX + 1) * 116] = "";
	size_t n = 0, len = 0;

	if (script_name(p->pid, name[0], sizeof(name[0])))
		n++;
	for (unsigned d = 0; p && p->pid != init && n < SHOWN_MAX && d < DEPTH_MAX; d++) {
		short_name(p->pid, name[n], sizeof(name[n]));
		if (name[n][0] && (n == 0 || strcmp(name[n], name[n - 1]) != 0))
			n++;
		p = find_process(all, p->parent);
	}
	while (n-- > 0)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", name[n],
					n ? " > " : "");
	(void)log_escape(out, WHO_CHAIN_MAX, text, len);
}

static void put_argv(pid_t pid, char out[WHO_ARGV_MAX])
{
	char text[WHO_ARGV_MAX];
	size_t n = 0;

	if (!read_small(pid, "cmdline", text, sizeof(text), &n))
		n = 0;
	while (n && text[n - 1] == '\0')
		n--;
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	(void)log_escape(out, WHO_ARGV_MAX, text, n);
}

bool who_find(pid_t init, const struct who_socket *socket, struct who *out)
{
	unsigned long inode = find_inode(init, socket, "");
	const struct process *p;
	struct processes all;

	if (!inode)
		inode = find_inode(init, socket, "6");
	if (!inode)
		return false;
	all = list_processes(init);
	p = find_holder(&all, init, inode);
	if (p) {
		*out = (struct who){ .pid = p->pid };
		put_chain(&all, p, init, out->chain);
		put_argv(p->pid, out->argv);
	}
	free(all.v);
	return p;
}

/*
 * main.c - the program; everything it can do stands in the table of commands.c
 */
#include "cli/commands.h"

int main(int argc, char **argv)
{
	return commands_main(argc, argv);
}

/*
 * suffixfile.h - the public suffix list of this machine
 */
#ifndef CLI_SUFFIXFILE_H
#define CLI_SUFFIXFILE_H

#include "policy/suffix.h"

/* Where Debian's and Fedora's packages put it; the form that libpsl reads. */
#define SUFFIXFILE_PATH "/usr/share/publicsuffix/public_suffix_list.dafsa"

/**
 * suffixfile_read() - read it, before lockdown_enter()
 *
 * Return: to be freed by suffixes_free(); NULL if there is none, with which no answer can be made
 * wider and no wildcard is proposed.
 */
struct suffixes *suffixfile_read(void);

#endif

/*
 * mark.h - what a person should look at twice before answering
 */
#ifndef CLI_ASK_MARK_H
#define CLI_ASK_MARK_H

#include "policy/policy.h"
#include "policy/question.h"
#include "policy/target.h"

/**
 * mark_target() - a warning about the name: foreign letters, or like one that is allowed or well known
 * @out: "" for none
 */
void mark_target(const struct policy *p, const struct target *t, char out[QUESTION_TEXT_MAX]);

#endif

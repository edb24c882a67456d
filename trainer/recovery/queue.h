/* queue.h - first in, first out; the queue owns what is in it. */
#ifndef PT_QUEUE_H
#define PT_QUEUE_H
#include "fragment.h"

typedef struct pt_queue {
    pt_fragment *head, *tail;
    int64_t n;
} pt_queue;

void pt_queue_push(pt_queue *q, pt_fragment *f); /* at the back */
void pt_queue_push_front(pt_queue *q,
                         pt_fragment *f); /* the same fragment again: keeps the order */
pt_fragment *pt_queue_pop(pt_queue *q);   /* from the front; NULL: empty */

#endif

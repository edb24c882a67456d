/* queue.c - the list of fragments still to be tried. */
#include "queue.h"

void pt_queue_push(pt_queue *q, pt_fragment *f)
{
    f->next = NULL;
    if (q->tail)
        q->tail->next = f;
    else
        q->head = f;
    q->tail = f;
    q->n++;
}

void pt_queue_push_front(pt_queue *q, pt_fragment *f)
{
    f->next = q->head;
    q->head = f;
    if (!q->tail) q->tail = f;
    q->n++;
}

pt_fragment *pt_queue_pop(pt_queue *q)
{
    pt_fragment *f = q->head;
    if (!f) return NULL;
    q->head = f->next;
    if (!q->head) q->tail = NULL;
    q->n--;
    f->next = NULL;
    return f;
}

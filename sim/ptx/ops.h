/* ops.h - shared by the files of the opcodes: the functions that the table in ops.c names, and what
 * they read and write operands with. */
#ifndef SIM_PTX_OPS_H
#define SIM_PTX_OPS_H
#include "emit.h"

/* ---- ops.c ---- */
const char *type_of(const stmt *s); /* the last modifier */
/* rz, rm or rp when the instruction rounds in a direction, else NULL */
const char *direction(const stmt *s);
/* Operand i as a value of type t, flushed where the instruction has .ftz */
const char *in(emit *e, const stmt *s, int i, const char *t);
/* x, with .ftz and .sat of the instruction applied, to its destination */
void put(emit *e, const stmt *s, const char *t, const char *x);

/* ---- arithmetic.c ---- */
void op_addsub(emit *e, const stmt *s);
void op_carry(emit *e, const stmt *s);
void op_mul(emit *e, const stmt *s);
void op_mul24(emit *e, const stmt *s);
void op_div(emit *e, const stmt *s);
void op_rem(emit *e, const stmt *s);
void op_minmax(emit *e, const stmt *s);
void op_unary(emit *e, const stmt *s);
void op_copysign(emit *e, const stmt *s);
void op_dp4a(emit *e, const stmt *s);

/* ---- bits.c ---- */
void op_logic(emit *e, const stmt *s);
void op_shift(emit *e, const stmt *s);
void op_shf(emit *e, const stmt *s);
void op_bits(emit *e, const stmt *s);
void op_prmt(emit *e, const stmt *s);
void op_lop3(emit *e, const stmt *s);

/* ---- compare.c ---- */
void op_testp(emit *e, const stmt *s);
void op_setp(emit *e, const stmt *s);
void op_select(emit *e, const stmt *s);
void op_mov(emit *e, const stmt *s);
void op_cvta(emit *e, const stmt *s);
void op_isspacep(emit *e, const stmt *s);

#endif

/* embed.c - the headers that translated kernels start with, as text in this library: a
 * program that was moved to another machine can still translate. The paths come from the build. */
#define TEXT(name, path)                                                        \
    __asm__(".pushsection .rodata\n.globl " #name "\n.hidden " #name "\n" #name \
            ":\n.incbin \"" path "\"\n.byte 0\n.popsection\n")
TEXT(sim_simrt_text, SIM_SIMRT_H);
TEXT(sim_prelude_text, SIM_PRELUDE_H);
TEXT(sim_half_text, SIM_HALF_H);
TEXT(sim_lanes_text, SIM_LANES_H);
extern const char sim_simrt_text[], sim_prelude_text[], sim_half_text[], sim_lanes_text[];

/* after.c - the definition after next.c's. */
int whose(void);
int whose(void)
{
    return 2;
}

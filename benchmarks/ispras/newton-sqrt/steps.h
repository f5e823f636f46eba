/* Enough for 1 to 10,000 from (v + 1) / 2 on, to the last bit but one.  */
#define STEPS 16

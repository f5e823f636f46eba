/* Polynomials of the device's mathematical functions, for gompy_math_double.h.

   Interpolated at Chebyshev's points with 60 digits (sin, cos, exp, log: Taylor's), rounded to double; relative errors
   below 2^-53.  */
#ifndef GOMPY_MATH_POLYNOMIALS_H
#define GOMPY_MATH_POLYNOMIALS_H

#define GOMPY_MATH static __inline__ __attribute__ ((device))
#define GOMPY_FMA(a, b, c) __nvvm_fma_rn_d (a, b, c)

/* (atan (t) / t - 1) / x by x = t * t up to tan (pi / 8) squared.  */
GOMPY_MATH double
gompy_poly_atan (double x)
{
  double p = 0.011950712850879827;
  p = GOMPY_FMA (p, x, -0.02726530574090698);
  p = GOMPY_FMA (p, x, 0.03722983758734335);
  p = GOMPY_FMA (p, x, -0.042941447461704016);
  p = GOMPY_FMA (p, x, 0.04754599295852244);
  p = GOMPY_FMA (p, x, -0.05262451340358059);
  p = GOMPY_FMA (p, x, 0.05882304422748316);
  p = GOMPY_FMA (p, x, -0.06666664332718701);
  p = GOMPY_FMA (p, x, 0.07692307615820015);
  p = GOMPY_FMA (p, x, -0.09090909089280703);
  p = GOMPY_FMA (p, x, 0.111111111110903);
  p = GOMPY_FMA (p, x, -0.14285714285714146);
  p = GOMPY_FMA (p, x, 0.19999999999999998);
  p = GOMPY_FMA (p, x, -0.3333333333333333);
  return p;
}

/* (asin (t) / t - 1) / x by x = t * t up to 1/4.  */
GOMPY_MATH double
gompy_poly_asin (double x)
{
  double p = 0.02961201126495512;
  p = GOMPY_FMA (p, x, -0.01924167174674304);
  p = GOMPY_FMA (p, x, 0.019554513336123378);
  p = GOMPY_FMA (p, x, 0.0030448799094556773);
  p = GOMPY_FMA (p, x, 0.009319560794767446);
  p = GOMPY_FMA (p, x, 0.009621842970100282);
  p = GOMPY_FMA (p, x, 0.011566459612121669);
  p = GOMPY_FMA (p, x, 0.01396378001220357);
  p = GOMPY_FMA (p, x, 0.017352816540325496);
  p = GOMPY_FMA (p, x, 0.02237215744350722);
  p = GOMPY_FMA (p, x, 0.03038194447553234);
  p = GOMPY_FMA (p, x, 0.044642857142551895);
  p = GOMPY_FMA (p, x, 0.07500000000000118);
  p = GOMPY_FMA (p, x, 0.16666666666666666);
  return p;
}

/* erf (t) / t by x = t * t up to 1.  */
GOMPY_MATH double
gompy_poly_erf (double x)
{
  double p = -7.795898827002142e-10;
  p = GOMPY_FMA (p, x, 1.3720064546777686e-08);
  p = GOMPY_FMA (p, x, -1.6208483801871705e-07);
  p = GOMPY_FMA (p, x, 1.6447424703317362e-06);
  p = GOMPY_FMA (p, x, -1.492473690741966e-05);
  p = GOMPY_FMA (p, x, 0.00012055294904839707);
  p = GOMPY_FMA (p, x, -0.0008548325975389692);
  p = GOMPY_FMA (p, x, 0.0052239776071164225);
  p = GOMPY_FMA (p, x, -0.02686617064323777);
  p = GOMPY_FMA (p, x, 0.11283791670945006);
  p = GOMPY_FMA (p, x, -0.37612638903183543);
  p = GOMPY_FMA (p, x, 1.1283791670955126);
  return p;
}

/* (1 + 2 t) exp (t * t) erfc (t) by x = (t - 4) / (t + 4), t from 1 to 28.  */
GOMPY_MATH double
gompy_poly_erfc (double x)
{
  double p = -2.6794263394857077e-08;
  p = GOMPY_FMA (p, x, 9.024005160405507e-08);
  p = GOMPY_FMA (p, x, 9.419227059227441e-08);
  p = GOMPY_FMA (p, x, -8.139596093381506e-07);
  p = GOMPY_FMA (p, x, 2.7777666816468806e-07);
  p = GOMPY_FMA (p, x, 5.706683491011162e-06);
  p = GOMPY_FMA (p, x, -1.1214923710870098e-05);
  p = GOMPY_FMA (p, x, -2.4399018894983832e-05);
  p = GOMPY_FMA (p, x, 0.00015061977916298657);
  p = GOMPY_FMA (p, x, -0.0001992566013471007);
  p = GOMPY_FMA (p, x, -0.000757772973764692);
  p = GOMPY_FMA (p, x, 0.005031969951837914);
  p = GOMPY_FMA (p, x, -0.01619773408996147);
  p = GOMPY_FMA (p, x, 0.037167515540419895);
  p = GOMPY_FMA (p, x, -0.06633036581029815);
  p = GOMPY_FMA (p, x, 0.09373283499819147);
  p = GOMPY_FMA (p, x, -0.10103906603636385);
  p = GOMPY_FMA (p, x, 0.06809705425469634);
  p = GOMPY_FMA (p, x, 0.015379652102620479);
  p = GOMPY_FMA (p, x, -0.13962111684056253);
  p = GOMPY_FMA (p, x, 1.2329951186255526);
  return p;
}

/* The gamma function of x + 1.5, x from -1/2 to 1/2.  */
GOMPY_MATH double
gompy_poly_gamma (double x)
{
  double p = -0.00025303807808043895;
  p = GOMPY_FMA (p, x, 0.00037955491879486174);
  p = GOMPY_FMA (p, x, -0.00022139952612051456);
  p = GOMPY_FMA (p, x, 0.0003320885800907498);
  p = GOMPY_FMA (p, x, -0.0007046879722466143);
  p = GOMPY_FMA (p, x, 0.0010569633457018935);
  p = GOMPY_FMA (p, x, -0.0015159595901781905);
  p = GOMPY_FMA (p, x, 0.002273514062024839);
  p = GOMPY_FMA (p, x, -0.003423629338262631);
  p = GOMPY_FMA (p, x, 0.005132883760616497);
  p = GOMPY_FMA (p, x, -0.007690139287816347);
  p = GOMPY_FMA (p, x, 0.011522407277990318);
  p = GOMPY_FMA (p, x, -0.017222447013020576);
  p = GOMPY_FMA (p, x, 0.02583761230507782);
  p = GOMPY_FMA (p, x, -0.03800193543217766);
  p = GOMPY_FMA (p, x, 0.058610303633145476);
  p = GOMPY_FMA (p, x, -0.07752305230182892);
  p = GOMPY_FMA (p, x, 0.1446453590475836);
  p = GOMPY_FMA (p, x, -0.10729480456475984);
  p = GOMPY_FMA (p, x, 0.4148134536882826);
  p = GOMPY_FMA (p, x, 0.032338397448885);
  p = GOMPY_FMA (p, x, 0.886226925452758);
  return p;
}

/* log (gamma (t)) / ((t - 1) (t - 2)), t = x + 1.5, x from -0.8 to 0.8.  */
GOMPY_MATH double
gompy_poly_lgamma (double x)
{
  double p = 8.344307450508202e-07;
  p = GOMPY_FMA (p, x, -1.2862608455646582e-06);
  p = GOMPY_FMA (p, x, -2.1544799958136953e-06);
  p = GOMPY_FMA (p, x, 3.3161754548873765e-06);
  p = GOMPY_FMA (p, x, 4.1631066210943436e-06);
  p = GOMPY_FMA (p, x, -6.417955524029342e-06);
  p = GOMPY_FMA (p, x, -2.494431834123839e-06);
  p = GOMPY_FMA (p, x, 3.8184130704832415e-06);
  p = GOMPY_FMA (p, x, 5.172796614617428e-06);
  p = GOMPY_FMA (p, x, -8.033138526709955e-06);
  p = GOMPY_FMA (p, x, 5.6302499685073176e-06);
  p = GOMPY_FMA (p, x, -8.879129346122533e-06);
  p = GOMPY_FMA (p, x, 1.7111204116752935e-05);
  p = GOMPY_FMA (p, x, -2.698928301274022e-05);
  p = GOMPY_FMA (p, x, 4.168389399434212e-05);
  p = GOMPY_FMA (p, x, -6.617027313572359e-05);
  p = GOMPY_FMA (p, x, 0.00010563976535688824);
  p = GOMPY_FMA (p, x, -0.00016891915124753136);
  p = GOMPY_FMA (p, x, 0.0002712751519308925);
  p = GOMPY_FMA (p, x, -0.00043799212224924437);
  p = GOMPY_FMA (p, x, 0.0007115224158103085);
  p = GOMPY_FMA (p, x, -0.0011644147169758302);
  p = GOMPY_FMA (p, x, 0.001922916132252499);
  p = GOMPY_FMA (p, x, -0.003212074064809667);
  p = GOMPY_FMA (p, x, 0.005446457844782875);
  p = GOMPY_FMA (p, x, -0.009425622448827779);
  p = GOMPY_FMA (p, x, 0.016797098631183744);
  p = GOMPY_FMA (p, x, -0.03130848750100616);
  p = GOMPY_FMA (p, x, 0.06291140107456496);
  p = GOMPY_FMA (p, x, -0.1459598959143061);
  p = GOMPY_FMA (p, x, 0.4831289505409809);
  return p;
}

/* (sin (t) / t - 1) / x by x = t * t up to (pi / 4) squared.  */
GOMPY_MATH double
gompy_poly_sin (double x)
{
  double p = 2.8114572543455206e-15;
  p = GOMPY_FMA (p, x, -7.647163731819816e-13);
  p = GOMPY_FMA (p, x, 1.6059043836821613e-10);
  p = GOMPY_FMA (p, x, -2.505210838544172e-08);
  p = GOMPY_FMA (p, x, 2.7557319223985893e-06);
  p = GOMPY_FMA (p, x, -0.0001984126984126984);
  p = GOMPY_FMA (p, x, 0.008333333333333333);
  p = GOMPY_FMA (p, x, -0.16666666666666666);
  return p;
}

/* (cos (t) - 1 + x / 2) / (x * x) by x = t * t, as above.  */
GOMPY_MATH double
gompy_poly_cos (double x)
{
  double p = -1.5619206968586225e-16;
  p = GOMPY_FMA (p, x, 4.779477332387385e-14);
  p = GOMPY_FMA (p, x, -1.1470745597729725e-11);
  p = GOMPY_FMA (p, x, 2.08767569878681e-09);
  p = GOMPY_FMA (p, x, -2.755731922398589e-07);
  p = GOMPY_FMA (p, x, 2.48015873015873e-05);
  p = GOMPY_FMA (p, x, -0.001388888888888889);
  p = GOMPY_FMA (p, x, 0.041666666666666664);
  return p;
}

/* (exp (x) - 1 - x) / (x * x), x up to log (2) / 2.  */
GOMPY_MATH double
gompy_poly_exp (double x)
{
  double p = 1.6059043836821613e-10;
  p = GOMPY_FMA (p, x, 2.08767569878681e-09);
  p = GOMPY_FMA (p, x, 2.505210838544172e-08);
  p = GOMPY_FMA (p, x, 2.755731922398589e-07);
  p = GOMPY_FMA (p, x, 2.7557319223985893e-06);
  p = GOMPY_FMA (p, x, 2.48015873015873e-05);
  p = GOMPY_FMA (p, x, 0.0001984126984126984);
  p = GOMPY_FMA (p, x, 0.001388888888888889);
  p = GOMPY_FMA (p, x, 0.008333333333333333);
  p = GOMPY_FMA (p, x, 0.041666666666666664);
  p = GOMPY_FMA (p, x, 0.16666666666666666);
  p = GOMPY_FMA (p, x, 0.5);
  return p;
}

/* (2 atanh (s) / s - 2 - 2/3 x) / (x * x) by x = s * s, s up to 0.1716.  */
GOMPY_MATH double
gompy_poly_log (double x)
{
  double p = 0.08695652173913043;
  p = GOMPY_FMA (p, x, 0.09523809523809523);
  p = GOMPY_FMA (p, x, 0.10526315789473684);
  p = GOMPY_FMA (p, x, 0.11764705882352941);
  p = GOMPY_FMA (p, x, 0.13333333333333333);
  p = GOMPY_FMA (p, x, 0.15384615384615385);
  p = GOMPY_FMA (p, x, 0.18181818181818182);
  p = GOMPY_FMA (p, x, 0.2222222222222222);
  p = GOMPY_FMA (p, x, 0.2857142857142857);
  p = GOMPY_FMA (p, x, 0.4);
  return p;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * Student's t distribution for whole degrees of freedom, by the finite sums of
 * Abramowitz and Stegun 26.7.3 and 26.7.4.  Pure functions. */
#include "experiment/judge.h"

#include <math.h>

double ty_student_p(double t, unsigned freedom)
{
	double angle = atan(fabs(t) / sqrt(freedom)), sine = sin(angle), cosine = cos(angle), square = cosine * cosine;
	double term = freedom % 2 ? cosine : 1, sum = 0;
	/* odd: cos + 2/3 cos^3 + (2 4)/(3 5) cos^5 ...; even: 1 + 1/2 cos^2 + (1 3)/(2 4) cos^4 ... */
	for (unsigned power = freedom % 2; power + 2 <= freedom; power += 2) {
		sum += term;
		term *= square * (power + 1) / (power + 2);
	}
	double inside = freedom % 2 ? M_2_PI * (angle + sine * sum) : sine * sum;
	return fmax(0, 1 - inside);
}

double ty_student_t(double p, unsigned freedom)
{
	double low = 0, high = 1;
	while (ty_student_p(high, freedom) > p && high < 1e12)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
		double middle = (low + high) / 2;
		if (ty_student_p(middle, freedom) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

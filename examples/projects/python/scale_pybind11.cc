// The same by pybind11, the region in C++.
#include <omp.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <stdexcept>

namespace py = pybind11;
using array = py::array_t<double, py::array::c_style>;

static bool
add (double a, array x_array, array y_array)
{
  if (x_array.size () != y_array.size ())
    throw std::invalid_argument ("the arrays have different lengths");
  const double *x = x_array.data ();
  double *y = y_array.mutable_data ();
  long n = x_array.size ();
  int host = 1;
#pragma omp target teams distribute parallel for map(to: x[:n]) map(tofrom: y[:n])
  for (long i = 0; i < n; i++)
    y[i] += a * x[i];
#pragma omp target map(tofrom: host)
  host = omp_is_initial_device ();
  return !host;
}

PYBIND11_MODULE (scale_pybind11, module)
{
  module.def ("add", &add, "y = a * x + y; whether that was done on a device");
}

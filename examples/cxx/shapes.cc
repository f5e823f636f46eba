// C++ on the device: class and function templates, virtual functions, lambdas, exceptions thrown and caught inside
// a region, std::array, reductions.  Every result is computed on the host, too, and compared.

#include <array>
#include <cstddef>
#include <cstdio>
#include <stdexcept>

#include <omp.h>

#pragma omp declare target

class Shape
{
public:
  virtual ~Shape () {}
  virtual long area () const = 0;
  virtual const char *name () const { return "shape"; }
};

template <typename T> class Box : public Shape
{
  T w_, h_;

public:
  Box (T w, T h) : w_ (w), h_ (h) {}
  long area () const override { return static_cast<long> (w_ * h_); }
  const char *name () const override { return "box"; }
};

class Square final : public Box<int>
{
public:
  explicit Square (int side) : Box<int> (side, side)
  {
    if (side < 0)
      throw std::out_of_range ("negative side");
  }
  const char *name () const override { return "square"; }
};

template <typename F, std::size_t N>
std::array<long, N>
tabulate (F f)
{
  std::array<long, N> table{};
  for (std::size_t i = 0; i < N; i++)
    table[i] = f (static_cast<long> (i));
  return table;
}

// What a region is asked to do, so that the host can do the very same.

static long
work (int n)
{
  const Box<double> box (2.5 * n, 4.0);
  const Square square (n);
  const Shape *shapes[] = { &box, &square };
  long sum = 0;
  for (const Shape *shape : shapes)
    sum += shape->area () * (shape->name ()[0] == 'b' ? 1 : 1000);
  const auto table = tabulate<long (*) (long), 8> ([] (long i) { return i * i; });
  for (long value : table)
    sum += value;
  return sum;
}

static int
thrown (int n)
{
  int caught = 0;
  for (int side = -n; side < n; side++)
    try
      {
        caught += Square (side).area () < 0;
      }
    catch (const std::out_of_range &)
      {
        caught++;
      }
  return caught;
}

#pragma omp end declare target

template <typename T, typename Op>
static T
reduce_on_device (const T *data, int n, Op op, bool offload)
{
  T sum{};
#pragma omp target teams distribute parallel for if (target : offload) map (to : data[:n]) reduction (+ : sum)
  for (int i = 0; i < n; i++)
    sum += op (data[i]);
  return sum;
}

static int failures;

static void
compare (const char *what, long device, long host)
{
  std::printf ("%-34s device %10ld  host %10ld  %s\n", what, device, host, device == host ? "equal" : "DIFFERENT");
  failures += device != host;
}

int
main ()
{
  long result = 0;
  int caught = 0, on_host = -1;
#pragma omp target map (from : on_host)
  on_host = omp_is_initial_device ();
  std::printf ("regions run on %s\n", on_host ? "the host" : "the device");

#pragma omp target map (from : result)
  result = work (7);
  compare ("templates, virtual calls, lambda", result, work (7));

#pragma omp target map (from : caught)
  caught = thrown (5);
  compare ("exceptions caught in the region", caught, thrown (5));

  constexpr int n = 20000;
  static std::array<int, n> data;
  for (int i = 0; i < n; i++)
    data[i] = i % 1000;
  const int offset = 3;
  auto op = [=] (int x) { return x % 2 ? x + offset : -x; };
  compare ("reduction with a capturing lambda", reduce_on_device (data.data (), n, op, true),
           reduce_on_device (data.data (), n, op, false));
  return failures != 0;
}

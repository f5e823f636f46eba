! check: unset total
program main
  real :: total(50), part(50)
  part = 1
  total = 2
  !$omp target map(to: part) map(from: total)
  total = total + part
  !$omp end target
  print *, total(50) > 2.5
end program

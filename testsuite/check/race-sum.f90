! check: race total
program main
  implicit none
  integer :: i, x(500), total
  x = 2
  total = 0
  !$omp target parallel do num_threads(4) map(to: x) map(tofrom: total)
  do i = 1, 500
    total = total + x(i)
  end do
  print *, total > 0
end program

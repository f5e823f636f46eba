! check: right
program main
  implicit none
  integer :: i, a(100), limit
  a = 0
  !$omp target parallel num_threads(4) map(tofrom: a, limit)
  !$omp single
  limit = 7
  !$omp end single
  !$omp do
  do i = 1, 100
    a(i) = limit
  end do
  !$omp end target parallel
  print *, sum (a)
end program

! check: right
program main
  integer :: x(300), i
  x = 0
  !$omp target map(tofrom: x)
  do i = 1, 300
    x(i) = i
  end do
  !$omp end target
  print *, sum(x)
end program

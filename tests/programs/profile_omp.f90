program main
  integer, save :: a(10) = 1
  !$omp target enter data map(to: a)
  do i = 1, 2
    !$omp target
    a = a + 1
    !$omp end target
  end do
  !$omp target exit data map(from: a)
  if (a(1) /= 3) error stop
end program

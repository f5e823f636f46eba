! check: right
subroutine add(x, n, extra)
  integer :: n, x(n), i
  integer, optional :: extra
  !$omp target map(tofrom: x)
  do i = 1, n
    x(i) = x(i) + 1
    if (present(extra)) x(i) = x(i) + extra
  end do
  !$omp end target
end subroutine

program main
  interface
    subroutine add(x, n, extra)
      integer :: n, x(n)
      integer, optional :: extra
    end subroutine
  end interface
  integer :: x(30)
  x = 1
  call add(x, 30)
  call add(x, 30, 5)
  print *, sum(x)
end program

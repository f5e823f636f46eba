! check: right
subroutine smooth(work, n)
  implicit none
  integer, intent(in) :: n
  real, intent(inout) :: work(n)
  integer :: i
  !$omp target map(tofrom: work)
  do i = 2, n
    work(i) = (work(i - 1) + work(i)) / 2
  end do
  !$omp end target
end subroutine
program main
  implicit none
  real :: work(400)
  work = 1
  call smooth(work, 400)
  print *, work(4) > 100
end program

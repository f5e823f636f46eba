! The same by f2py.
subroutine scale_add (n, a, x, y, device)
  use omp_lib
  implicit none
  integer, intent(in) :: n
  double precision, intent(in) :: a, x(n)
  double precision, intent(inout) :: y(n)
  logical, intent(out) :: device
  logical :: host
  integer :: i
  !$omp target teams distribute parallel do map(to: x) map(tofrom: y)
  do i = 1, n
    y(i) = y(i) + a * x(i)
  end do
  host = .true.
  !$omp target map(tofrom: host)
  host = omp_is_initial_device ()
  !$omp end target
  device = .not. host
end subroutine

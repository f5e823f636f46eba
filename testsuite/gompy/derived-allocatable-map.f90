! GCC 12 does not map components of a type with allocatable components.
! { dg-do compile }
program derived
  implicit none
  type part
    integer, allocatable :: values(:)
  end type
  type(part) :: p
  allocate (p%values(100))
  !$omp target map(tofrom: p%values) ! { dg-error "with allocatable components is not permitted in map clause" }
  p%values = 1
  !$omp end target
end program

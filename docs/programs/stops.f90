program main
  !$acc serial
  error stop 35
  !$acc end serial
end program

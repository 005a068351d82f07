# TCP/Linux in ns-2 as a kernel has it, for ns2_goodput.tcl and benches/ns2.tcl.

# Payload, 40 bytes of IPv4 and TCP, 12 of timestamps: the kernel's 1500-byte packets.
Agent/TCP set packetSize_ 1448
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set ts_option_size_ 12
Agent/TCP set timestamps_ true
Agent/TCP set window_ 100000
Agent/TCP set windowInit_ 10
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.001
Agent/TCPSink set ts_echo_rfc1323_ true

# A bulk transfer from the start on, to a sink of this class; its sender is returned.
proc bulk {sender receiver congestion class} {
    global ns
    set tcp [new Agent/TCP/Linux]
    set sink [new $class]
    $ns attach-agent $sender $tcp
    $ns attach-agent $receiver $sink
    $ns connect $tcp $sink
    $ns at 0 "$tcp select_ca $congestion"
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at 0 "$ftp start"
    return $tcp
}

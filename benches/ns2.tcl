# The scenarios of measure.py in ns-2, with the settings that make it fast: only the packet headers that are used, the heap
# scheduler, no trace, no monitor.
#   ns ns2.tcl cubic COUNT MBPS RTT_MS QUEUE SECONDS
#   ns ns2.tcl calls COUNT MBPS RTT_MS QUEUE SECONDS
# COUNT bulk transfers of TCP/Linux with CUBIC, or COUNT calls with packets of 210 bytes at 64 kbit/s that pause, share one
# drop-tail bottleneck of QUEUE packets. The only number printed is that of the packets that arrived.

remove-all-packet-headers
add-packet-header Flags IP TCP RTP
lassign $argv kind count mbps rtt_ms queue seconds
source [file join [file dirname [info script]] .. validation ns2_tcp.tcl]

set ns [new Simulator]
$ns use-scheduler Heap
set sender [$ns node]
set router [$ns node]
set receiver [$ns node]
$ns simplex-link $sender $router 10Gb 0ms DropTail
$ns simplex-link $router $sender 10Gb 0ms DropTail
$ns simplex-link $router $receiver ${mbps}Mb [expr {$rtt_ms / 2.0}]ms DropTail
$ns simplex-link $receiver $router 10Gb [expr {$rtt_ms / 2.0}]ms DropTail
foreach {from to} [list $sender $router $router $sender $receiver $router] { $ns queue-limit $from $to 10000000 }
$ns queue-limit $router $receiver $queue

proc transfer {index} {
    global sender receiver
    return [bulk $sender $receiver cubic Agent/TCPSink/Sack1]
}

proc call {index} {
    global ns sender receiver
    set udp [new Agent/UDP]
    $udp set packetSize_ 210
    set sink [new Agent/LossMonitor]
    $ns attach-agent $sender $udp
    $ns attach-agent $receiver $sink
    $ns connect $udp $sink
    set talk [new Application/Traffic/Pareto]
    $talk set packetSize_ 210
    $talk set burst_time_ 500ms
    $talk set idle_time_ 50ms
    $talk set rate_ 64k
    $talk attach-agent $udp
    $ns at [expr {0.0001 * $index}] "$talk start"
    return $sink
}

set ends {}
for {set i 0} {$i < $count} {incr i} { lappend ends [[dict get {cubic transfer calls call} $kind] $i] }
$ns at $seconds {
    set arrived 0
    foreach end $ends { incr arrived [$end set [dict get {cubic ack_ calls npkts_} $kind]] }
    puts $arrived
    exit 0
}
$ns run

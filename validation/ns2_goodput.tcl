# One cell of the grid of cross_validation.py in ns-2, with its port of Linux's congestion controllers (Agent/TCP/Linux):
#   ns ns2_goodput.tcl CONGESTION RTT_MS BOTTLENECK_MBPS SECONDS DROPLIST
# DROPLIST is a file with the numbers, from 0 and rising, of the data packets to be lost; a bottleneck of 0 is none. The
# losses fall before the bottleneck's queue, which holds a bandwidth-delay product. Prints one line of CSV: goodput in
# Mbit/s over the whole time and after 5 s, retransmissions, packets lost, packets dropped by the queue.

lassign $argv congestion rtt_ms bottleneck seconds droplist
source [file join [file dirname [info script]] ns2_tcp.tcl]
set payload [Agent/TCP set packetSize_]
set warm 5.0

Agent/TCP set maxrto_ 120
Agent/TCPSink/Sack1/DelAck set interval_ 0.040

set ns [new Simulator]
set sender [$ns node]
set router [$ns node]
set receiver [$ns node]

proc rate {mbps} { expr {$mbps > 0 ? "${mbps}Mb" : "10Gb"} }
set one_way [expr {$rtt_ms / 2.0}]
$ns duplex-link $sender $router 10Gb 0ms DropTail
$ns simplex-link $router $receiver [rate $bottleneck] ${one_way}ms DropTail
$ns simplex-link $receiver $router 10Gb ${one_way}ms DropTail
foreach {from to} [list $sender $router $router $sender $receiver $router $router $receiver] {
    $ns queue-limit $from $to 1000000
}
if {$bottleneck > 0} {
    # The packet in service stands in no queue; ns-2 refuses the packet that would make the queue as long as its limit.
    $ns queue-limit $router $receiver [expr {int($bottleneck * 1e6 * $rtt_ms / 1e3 / 8 / 1500) + 1}]
}

set file [open $droplist]
# Number 0 of what passes the error model is the SYN.
set numbers [lmap number [split [string trim [read $file]]] { expr {$number + 1} }]
close $file
set sink_of_losses [new Agent/LossMonitor]
if {[llength $numbers] > 0} {
    set losses [new ErrorModel/List]
    $losses unit pkt
    $losses droplist $numbers
    $ns lossmodel $losses $sender $router
    $losses drop-target $sink_of_losses
}
set queue [$ns monitor-queue $router $receiver ""]

set tcp [bulk $sender $receiver $congestion Agent/TCPSink/Sack1/DelAck]

# Segment 0 is the SYN.
proc acknowledged {} {
    global tcp payload
    return [expr {[$tcp set ack_] * $payload}]
}

set at_warm 0
$ns at $warm { set at_warm [acknowledged] }
$ns at $seconds {
    set all [acknowledged]
    set lost [$sink_of_losses set npkts_]
    set drops [$queue set pdrops_]
    set retransmitted [$tcp set nrexmitpack_]
    puts [format "%.4f,%.4f,%d,%d,%d" [expr {$all * 8e-6 / $seconds}] \
        [expr {($all - $at_warm) * 8e-6 / ($seconds - $warm)}] $retransmitted $lost $drops]
    exit 0
}
$ns run

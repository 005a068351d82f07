//! The congestion controller, with what it needs and the probes that it asked for.

use units::{BitRate, Time};

use crate::congestion::{AckSample, CongestionController, Event, Needs, Start, Window};
use crate::probes::Probes;
use crate::tcp::config::{AvoidanceCounts, ByteCounting, Settings};

pub(in crate::tcp::send) struct Control {
    controller: Box<dyn CongestionController>,
    needs: Needs,
    /// The probes that are still to be sent, of a controller that asks for some.
    probes: Option<Box<Probes>>,
    /// Acknowledged segments are counted for [`Window::open`], whatever the controller, as ns-2.35's agent does.
    counts: bool,
}

impl Control {
    pub fn new(settings: &Settings, mss: u32, initial_window: u32, entropy: u64) -> Control {
        let counting_limit = match settings.abc {
            ByteCounting::AtMost(segments) => segments,
            ByteCounting::All => u32::MAX,
        };
        let controller = settings.congestion.entry().build(Start {
            mss,
            window: initial_window,
            counting_limit,
            entropy,
            by_acknowledgment: settings.avoidance_counts == AvoidanceCounts::Acknowledgments,
            of_linux_2_6_22: settings.recovers_as_ns2(),
            timestamps: settings.timestamps,
        });
        let counts = controller.window().is_of_linux_2_6_22();
        let asked = controller.needs();
        // Rates and probes follow all acknowledgments.
        let needs = Needs { advances_only: asked.advances_only && !asked.rates && !asked.probes, ..asked };
        Control { needs, controller, probes: needs.probes.then(Box::default), counts }
    }

    #[inline]
    pub fn window(&self) -> &Window {
        self.controller.window()
    }

    #[inline]
    pub(super) fn window_mut(&mut self) -> &mut Window {
        self.controller.window_mut()
    }

    /// Whether the controller alone moves the window.
    #[inline]
    pub fn drives(&self) -> bool {
        self.needs.drives
    }

    /// Whether the controller asks for delivery rates.
    #[inline]
    pub fn wants_rates(&self) -> bool {
        self.needs.rates
    }

    /// Whether the controller ignores acknowledgments that do not advance.
    #[inline]
    pub fn wants_advances_only(&self) -> bool {
        self.needs.advances_only
    }

    /// Whether the controller has probes sent.
    #[inline]
    pub fn wants_probes(&self) -> bool {
        self.probes.is_some()
    }

    /// Whether the controller asks for each segment sent.
    #[inline]
    pub fn wants_sent(&self) -> bool {
        self.needs.sent
    }

    /// Whether the controller takes part in more than acknowledgments and events.
    pub fn is_asked(&self) -> bool {
        let Needs { drives: _, rates, sent, paces, timer, probes, advances_only: _ } = self.needs;
        rates || sent || paces || timer || probes
    }

    /// The window in a recovery of Linux 2.6.22.
    pub(super) fn floor(&self) -> u32 {
        self.controller.floor()
    }

    pub fn tell(&mut self, now: Time, event: &Event) {
        self.controller.on_event(now, event);
        self.follow_probes(now);
    }

    #[inline(always)]
    pub fn acknowledge(&mut self, sample: &AckSample) {
        if self.counts {
            self.controller.window_mut().count_for_linux_2_6_22(sample.acked);
        }
        self.controller.on_ack(sample);
        self.follow_probes(sample.now);
    }

    #[inline(always)]
    fn follow_probes(&mut self, now: Time) {
        if let Some(probes) = &mut self.probes {
            probes.request(now, &self.controller.poll_probes());
        }
    }

    /// The rate that the controller sets.
    #[inline]
    pub fn pacing_rate(&self) -> Option<BitRate> {
        if self.needs.paces { self.controller.pacing_rate() } else { None }
    }

    /// Whether the controller sets a rate.
    #[inline]
    pub fn paces(&self) -> bool {
        self.needs.paces
    }

    /// Whether a probe is to be sent now; each `true` is one.
    #[inline]
    pub fn take_probe(&mut self) -> bool {
        self.probes.as_mut().is_some_and(|probes| probes.take())
    }

    /// When [`Control::handle_timeout`] is to be called; [`Time::MAX`] for never.
    #[inline]
    pub fn timer(&self) -> Time {
        let own = if self.needs.timer { self.controller.poll_timeout().unwrap_or(Time::MAX) } else { Time::MAX };
        own.min(self.probes.as_ref().map_or(Time::MAX, |probes| probes.timer()))
    }

    pub fn handle_timeout(&mut self, now: Time, in_flight: u32) {
        if let Some(probes) = &mut self.probes {
            probes.handle_timeout(now);
        }
        if self.needs.timer && self.controller.poll_timeout().is_some_and(|at| at <= now) {
            self.tell(now, &Event::Timeout { in_flight });
        }
    }
}

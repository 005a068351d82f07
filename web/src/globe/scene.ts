// The globe: a sphere with its land, satellites as points, the route as a line; turned by drag, nearer by wheel.
import {
  BufferAttribute, BufferGeometry, CanvasTexture, Color, DirectionalLight, Group, HemisphereLight, Line, LineBasicMaterial, LineLoop,
  LineSegments, Mesh, MeshLambertMaterial, PerspectiveCamera, Points, PointsMaterial, Scene, SphereGeometry, SRGBColorSpace, WebGLRenderer,
} from 'three';
import type { Globe } from '../core/messages';
import { land } from './land';
import { positions, stops, type Stop, type Vector } from './route';

const EARTH_M = 6_371_000;
/** Points of the circle within which the user's satellite is seen. */
const CIRCLE = 96;

/** The core's axes (z through the north pole) as the scene's (y up), in radii of the Earth. */
function placed([x, y, z]: Vector): Vector {
  return [x / EARTH_M, z / EARTH_M, -y / EARTH_M];
}

export interface Colours {
  sea: string;
  land: string;
  coast: string;
  grid: string;
  satellite: string;
  link: string;
  route: string;
  station: string;
  back: string;
}

export class Picture {
  readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly camera = new PerspectiveCamera(38, 1, 0.05, 60);
  private readonly earth: Mesh<SphereGeometry, MeshLambertMaterial>;
  private readonly things = new Group();
  private globe: Globe | null = null;
  private at = new Float32Array();
  private shown = new Float32Array();
  private satellites: Points | undefined;
  private links: LineSegments | undefined;
  private route: Line | undefined;
  private stations: Points | undefined;
  private coverage: LineLoop | undefined;
  private longitude = 0.6;
  private latitude = 0.5;
  private distance = 4.2;
  /** Without a graphics card: fewer samples for each pixel, the same picture. */
  private readonly plain: boolean;

  /** Throws where the browser has no WebGL. */
  constructor(private colours: Colours) {
    this.plain = drawnInSoftware();
    this.renderer = new WebGLRenderer({ antialias: !this.plain, alpha: true, powerPreference: 'low-power', preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(this.plain ? 1 : Math.min(devicePixelRatio, 2));
    this.earth = new Mesh(new SphereGeometry(1, 64, 32), new MeshLambertMaterial());
    this.scene.add(this.earth, this.things, new HemisphereLight(0xffffff, 0x8899bb, 2.2));
    const sun = new DirectionalLight(0xffffff, 1.1);
    sun.position.set(3, 2, 2);
    this.camera.add(sun);
    this.scene.add(this.camera);
    this.paint(colours);
  }

  paint(colours: Colours): void {
    this.colours = colours;
    this.earth.material.map?.dispose();
    const texture = new CanvasTexture(land(colours));
    texture.colorSpace = SRGBColorSpace;
    texture.anisotropy = this.plain ? 1 : 4;
    this.earth.material.map = texture;
    this.earth.material.needsUpdate = true;
    this.show(this.globe);
  }

  /** Another path, or none with satellites. */
  show(globe: Globe | null): void {
    for (const thing of [...this.things.children]) {
      this.things.remove(thing);
      const { geometry, material } = thing as Mesh<BufferGeometry, MeshLambertMaterial>;
      geometry.dispose();
      material.dispose();
    }
    const fresh = globe !== this.globe;
    this.globe = globe;
    if (!globe) return;
    const count = globe.satellites.length;
    [this.at, this.shown] = [new Float32Array(count * 3), new Float32Array(count * 3)];
    const { satellite, link, route, station } = this.colours;
    this.satellites = new Points(geometry(count), new PointsMaterial({ color: satellite, size: count > 300 ? 2.6 : 4.5, sizeAttenuation: false }));
    // The ends of a link are satellites: their places are there already.
    const ends = new BufferGeometry().setAttribute('position', this.satellites.geometry.getAttribute('position')).setIndex(globe.links.flat());
    this.links = new LineSegments(ends, new LineBasicMaterial({ color: link, transparent: true, opacity: count > 300 ? 0.12 : 0.3 }));
    this.route = new Line(geometry(64), new LineBasicMaterial({ color: route, linewidth: 2 }));
    this.stations = new Points(geometry(globe.gateways.length + 1), new PointsMaterial({ color: station, size: 9, sizeAttenuation: false }));
    this.coverage = new LineLoop(geometry(CIRCLE), new LineBasicMaterial({ color: route, transparent: true, opacity: 0.7 }));
    this.things.add(this.links, this.satellites, this.coverage, this.route, this.stations);
    for (const thing of this.things.children) thing.frustumCulled = false;
    if (fresh) this.face(globe);
  }

  /** Moves everything to an instant: the route's stops. */
  move(seconds: number): Stop[] {
    const { globe, satellites, links, route, stations, coverage } = this;
    if (!globe || !satellites || !links || !route || !stations || !coverage) return [];
    positions(globe, seconds, this.at);
    for (let place = 0; place < this.at.length; place += 3) {
      this.shown[place] = (this.at[place] ?? 0) / EARTH_M;
      this.shown[place + 1] = (this.at[place + 2] ?? 0) / EARTH_M;
      this.shown[place + 2] = -(this.at[place + 1] ?? 0) / EARTH_M;
    }
    fill(satellites.geometry, this.shown);
    const found = stops(globe, seconds, this.at);
    fill(route.geometry, new Float32Array(found.slice(0, 64).flatMap(({ at }) => placed(at))));
    const user = found[found.length - 1]?.at ?? globe.user[0] ?? [0, 0, 0];
    fill(stations.geometry, new Float32Array([...globe.gateways.flatMap(lifted), ...lifted(user)]));
    const last = found[found.length - 2]?.at;
    coverage.visible = Boolean(last);
    if (last) fill(coverage.geometry, circle(last, globe.minimum_elevation_deg));
    return found;
  }

  size(width: number, height: number): void {
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
  }

  /** By radians, and nearer or farther by a factor. */
  turn(longitude: number, latitude: number, factor = 1): void {
    this.longitude += longitude;
    this.latitude = Math.min(Math.max(this.latitude + latitude, -1.5), 1.5);
    this.distance = Math.min(Math.max(this.distance * factor, 1.6), 14);
  }

  render(): void {
    const [across, up] = [Math.cos(this.latitude) * this.distance, Math.sin(this.latitude) * this.distance];
    this.camera.position.set(Math.cos(this.longitude) * across, up, -Math.sin(this.longitude) * across);
    this.camera.lookAt(0, 0, 0);
    this.renderer.render(this.scene, this.camera);
  }

  background(colour: string): void {
    this.scene.background = new Color(colour);
  }

  /** Half-way between the ends of the path, far enough for its satellites. */
  private face(globe: Globe): void {
    const [a, b] = [globe.gateways[0] ?? [1, 0, 0], globe.user[0] ?? [1, 0, 0]];
    const middle = [a[0] + b[0], a[1] + b[1], a[2] + b[2]] as Vector;
    const size = Math.hypot(...middle);
    if (size > 1e6) [this.longitude, this.latitude] = [Math.atan2(middle[1], middle[0]), Math.asin(middle[2] / size) * 0.7];
    const first = globe.positions;
    const height = Math.hypot(first[0] ?? EARTH_M, first[1] ?? 0, first[2] ?? 0) / EARTH_M;
    this.distance = Math.min(13, Math.max(4, 3.1 * height));
  }
}

/** Whether WebGL runs on the processor. */
function drawnInSoftware(): boolean {
  const context = document.createElement('canvas').getContext('webgl2');
  const found = context?.getExtension('WEBGL_debug_renderer_info');
  const name = String(context?.getParameter(found ? found.UNMASKED_RENDERER_WEBGL : context.RENDERER));
  context?.getExtension('WEBGL_lose_context')?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

/** On the ground, a little above it so that the sphere does not hide it. */
function lifted(at: Vector): Vector {
  return placed(at).map((coordinate) => coordinate * 1.006) as Vector;
}

function geometry(points: number): BufferGeometry {
  return new BufferGeometry().setAttribute('position', new BufferAttribute(new Float32Array(points * 3), 3));
}

function fill(geometry: BufferGeometry, values: Float32Array): void {
  const attribute = geometry.getAttribute('position') as BufferAttribute;
  (attribute.array as Float32Array).set(values.subarray(0, attribute.array.length));
  attribute.needsUpdate = true;
  geometry.setDrawRange(0, values.length / 3);
}

/** The circle on the ground from which a satellite is seen above an elevation. */
function circle(satellite: Vector, elevation_deg: number): Float32Array {
  const up = placed(satellite);
  const height = Math.hypot(...up);
  const elevation = (elevation_deg * Math.PI) / 180;
  const angle = Math.acos(Math.cos(elevation) / height) - elevation;
  const axis = up.map((coordinate) => coordinate / height) as Vector;
  const side = normal(Math.abs(axis[1]) < 0.9 ? cross(axis, [0, 1, 0]) : cross(axis, [1, 0, 0]));
  const other = cross(axis, side);
  const points = new Float32Array(CIRCLE * 3);
  for (let place = 0; place < CIRCLE; place++) {
    const around = (place / CIRCLE) * 2 * Math.PI;
    for (const coordinate of [0, 1, 2] as const) {
      const across = Math.cos(around) * side[coordinate] + Math.sin(around) * other[coordinate];
      points[3 * place + coordinate] = 1.004 * (Math.cos(angle) * axis[coordinate] + Math.sin(angle) * across);
    }
  }
  return points;
}

function cross(a: Vector, b: Vector): Vector {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

function normal(a: Vector): Vector {
  const size = Math.hypot(...a);
  return a.map((coordinate) => coordinate / size) as Vector;
}

// The part of Preact 11 that the pages use, for tsc, without its types.
export function h(...parts: any[]): any;
export function render(...parts: any[]): void;
export function createRef(): { current: any };
export class Component {
  props: any;
  setState(change: any): void;
}

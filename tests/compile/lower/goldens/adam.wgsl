@group(0) @binding(0) var<storage, read_write> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> b3: array<vec4<f32>>;
@group(0) @binding(4) var<uniform> P: array<vec4<u32>, 16>;
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (group.y * groups.x + group.x) * 64u + lane;
  if (id >= P[0].x) { return; }
  let i1 = i32(id) * 4;
  let t0 = b0[bitcast<i32>(P[0].y) + (i1 >> 2u)];
  let t0x = t0.x;
  let t0y = t0.y;
  let t0z = t0.z;
  let t0w = t0.w;
  let t1 = b1[bitcast<i32>(P[0].z) + (i1 >> 2u)];
  let t1x = t1.x;
  let t1y = t1.y;
  let t1z = t1.z;
  let t1w = t1.w;
  // programs.py:31
  let t2x = (t1x - t0x);
  let t2y = (t1y - t0y);
  let t2z = (t1z - t0z);
  let t2w = (t1w - t0w);
  let t3x = (0.10000000149011612f * t2x);
  let t3y = (0.10000000149011612f * t2y);
  let t3z = (0.10000000149011612f * t2z);
  let t3w = (0.10000000149011612f * t2w);
  let t4x = (t0x + t3x);
  let t4y = (t0y + t3y);
  let t4z = (t0z + t3z);
  let t4w = (t0w + t3w);
  let t5 = b2[bitcast<i32>(P[0].w) + (i1 >> 2u)];
  let t5x = t5.x;
  let t5y = t5.y;
  let t5z = t5.z;
  let t5w = t5.w;
  // programs.py:32
  let t6x = (t5x * 0.9990000128746033f);
  let t6y = (t5y * 0.9990000128746033f);
  let t6z = (t5z * 0.9990000128746033f);
  let t6w = (t5w * 0.9990000128746033f);
  let t7x = (0.0010000000474974513f * t1x);
  let t7y = (0.0010000000474974513f * t1y);
  let t7z = (0.0010000000474974513f * t1z);
  let t7w = (0.0010000000474974513f * t1w);
  let t8x = (t7x * t1x);
  let t8y = (t7y * t1y);
  let t8z = (t7z * t1z);
  let t8w = (t7w * t1w);
  let t9x = (t6x + t8x);
  let t9y = (t6y + t8y);
  let t9z = (t6z + t8z);
  let t9w = (t6w + t8w);
  let t10 = b3[bitcast<i32>(P[1].x) + (i1 >> 2u)];
  let t10x = t10.x;
  let t10y = t10.y;
  let t10z = t10.z;
  let t10w = t10.w;
  // programs.py:33
  let t11x = ((-0.0010000000474974513f) * t4x);
  let t11y = ((-0.0010000000474974513f) * t4y);
  let t11z = ((-0.0010000000474974513f) * t4z);
  let t11w = ((-0.0010000000474974513f) * t4w);
  let t12x = sqrt_f(t9x);
  let t12y = sqrt_f(t9y);
  let t12z = sqrt_f(t9z);
  let t12w = sqrt_f(t9w);
  let t13x = (t12x + 9.99999993922529e-09f);
  let t13y = (t12y + 9.99999993922529e-09f);
  let t13z = (t12z + 9.99999993922529e-09f);
  let t13w = (t12w + 9.99999993922529e-09f);
  let t14x = (t11x / t13x);
  let t14y = (t11y / t13y);
  let t14z = (t11z / t13z);
  let t14w = (t11w / t13w);
  let t15x = (t10x + t14x);
  let t15y = (t10y + t14y);
  let t15z = (t10z + t14z);
  let t15w = (t10w + t14w);
  // programs.py:31
  b0[bitcast<i32>(P[0].y) + (i1 >> 2u)] = vec4<f32>(t4x, t4y, t4z, t4w);
  // programs.py:32
  b2[bitcast<i32>(P[0].w) + (i1 >> 2u)] = vec4<f32>(t9x, t9y, t9z, t9w);
  // programs.py:33
  b3[bitcast<i32>(P[1].x) + (i1 >> 2u)] = vec4<f32>(t15x, t15y, t15z, t15w);
}
